#include "agent/gpu/cupti/cupti.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <type_traits>

#include "agent/imports/loaded_objects.h"

namespace castscope::gpu::cupti {
namespace {

// The functions at the end, of CUDA 12 and later, may be missing: then less is known.
constexpr std::array kNames{"cuptiSubscribe",
                            "cuptiEnableCallback",
                            "cuptiUnsubscribe",
                            "cuptiActivityRegisterCallbacks",
                            "cuptiActivityEnable",
                            "cuptiActivityDisable",
                            "cuptiActivityFlushAll",
                            "cuptiActivityGetNextRecord",
                            "cuptiActivityGetNumDroppedRecords",
                            "cuptiActivityPushExternalCorrelationId",
                            "cuptiActivityPopExternalCorrelationId",
                            "cuptiGetTimestamp",
                            "cuptiGetVersion",
                            "cuptiGetResultString",
                            "cuptiActivityEnableRuntimeApi",
                            "cuptiActivityEnableDriverApi",
                            "cuptiGetGraphNodeId"};
constexpr std::size_t kNeeded = 14;

template <typename... Functions>
bool fill(const std::array<void*, kNames.size()>& addresses, Functions&... functions) {
  static_assert(sizeof...(functions) == kNames.size());
  std::size_t i = 0, needed = 0;
  const auto put = [&](auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(addresses[i]);
    if (i++ < kNeeded && function != nullptr) ++needed;
  };
  (put(functions), ...);
  return needed == kNeeded;
}

}  // namespace

bool find_library(Library* library, std::string* why) {
  std::array<void*, kNames.size()> found{};
  if (!imports::functions_of("libcupti.so", kNames, found)) {
    *why = "this process has no CUPTI (libcupti.so)";
    return false;
  }
  Api& a = library->api;
  if (!fill(found, a.subscribe, a.enable_callback, a.unsubscribe, a.register_callbacks, a.enable, a.disable,
            a.flush_all, a.next_record, a.dropped, a.push, a.pop, a.timestamp, a.version, a.result_string,
            a.enable_runtime, a.enable_driver, a.graph_node_id) ||
      a.version(&library->version) != kSuccess) {
    *why = "its libcupti.so lacks a function of CUDA 11's CUPTI";
    return false;
  }
  return true;
}

void keep_loaded(const Library& library) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(library.api.subscribe), &info) != 0 && info.dli_fname != nullptr)
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

bool record_launching(const Api& api, bool on) {
  if (api.enable_runtime == nullptr || api.enable_driver == nullptr) return false;
  // A function that this CUPTI does not know cannot be recorded, so its answer for one does not matter.
  bool any = false;
  for (const std::uint16_t function : kLaunchingRuntime) any |= api.enable_runtime(function, on) == kSuccess;
  for (const std::uint16_t function : kLaunchingDriver) api.enable_driver(function, on);
  return any;
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
