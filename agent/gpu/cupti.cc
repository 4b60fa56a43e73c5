#include "agent/gpu/cupti.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstring>

namespace castscope::gpu::cupti {
namespace {

bool is_cupti(const char* path) {
  const char* name = std::strrchr(path, '/');
  return std::strncmp(name == nullptr ? path : name + 1, "libcupti.so", 11) == 0;
}

int take_first(dl_phdr_info* info, std::size_t, void* found) {
  if (info->dlpi_name == nullptr || !is_cupti(info->dlpi_name)) return 0;
  *static_cast<std::string*>(found) = info->dlpi_name;
  return 1;
}

template <typename Function>
bool look_up(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool look_up_all(void* library, Api& api) {
  look_up(library, "cuptiActivityEnableRuntimeApi", &api.enable_runtime);
  look_up(library, "cuptiActivityEnableDriverApi", &api.enable_driver);
  look_up(library, "cuptiGetGraphNodeId", &api.graph_node_id);
  return look_up(library, "cuptiSubscribe", &api.subscribe) &&
         look_up(library, "cuptiEnableCallback", &api.enable_callback) &&
         look_up(library, "cuptiUnsubscribe", &api.unsubscribe) &&
         look_up(library, "cuptiActivityRegisterCallbacks", &api.register_callbacks) &&
         look_up(library, "cuptiActivityEnable", &api.enable) &&
         look_up(library, "cuptiActivityDisable", &api.disable) &&
         look_up(library, "cuptiActivityFlushAll", &api.flush_all) &&
         look_up(library, "cuptiActivityGetNextRecord", &api.next_record) &&
         look_up(library, "cuptiActivityGetNumDroppedRecords", &api.dropped) &&
         look_up(library, "cuptiActivityPushExternalCorrelationId", &api.push) &&
         look_up(library, "cuptiActivityPopExternalCorrelationId", &api.pop) &&
         look_up(library, "cuptiGetTimestamp", &api.timestamp) && look_up(library, "cuptiGetVersion", &api.version) &&
         look_up(library, "cuptiGetResultString", &api.result_string);
}

}  // namespace

bool find_library(Library* library, std::string* why) {
  dl_iterate_phdr(take_first, &library->path);
  void* handle = library->path.empty() ? nullptr : dlopen(library->path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) {
    *why = "this process has no CUPTI (libcupti.so)";
    return false;
  }
  // The handle is kept: the library is to stay for as long as we may call it.
  if (!look_up_all(handle, library->api) || library->api.version(&library->version) != kSuccess) {
    *why = library->path + " lacks a function of CUDA 11's CUPTI";
    return false;
  }
  return true;
}

std::string describe(std::uint32_t version) {
  char text[64];
  if (version >= 10000)
    std::snprintf(text, sizeof text, "CUPTI of CUDA %u.%u", version / 10000, version / 100 % 100);
  else
    std::snprintf(text, sizeof text, "CUPTI, API version %u", version);
  return text;
}

}  // namespace castscope::gpu::cupti
