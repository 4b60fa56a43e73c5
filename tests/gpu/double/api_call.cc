#include "api_call.h"

#include <array>
#include <atomic>
#include <string_view>

#include "cupti_records.h"
#include "device.h"
#include "subscriber.h"

namespace nogpu {
namespace {

std::atomic<uint32_t> next_correlation{1};

struct Name {
  uint32_t id;
  const char* name;
};

// The build makes this list from CUPTI's lists of callback ids.
constexpr Name kRuntimeNames[] = {
#include "runtime_names.inc"
};
constexpr Name kDriverNames[] = {
#include "driver_names.inc"
};

using Table = std::array<const char*, kMostCallbackIds>;

template <size_t count>
Table table_of(const Name (&names)[count]) {
  Table table{};
  for (const Name& entry : names) {
    if (entry.id < table.size()) table[entry.id] = entry.name;
  }
  return table;
}

// Returns the functions' own names: those of the runtime end with the version that introduced them.
Table without_versions(Table names) {
  for (const char*& entry : names) {
    const std::string_view name = entry == nullptr ? "" : entry;
    if (const size_t version = name.rfind("_v"); version != std::string_view::npos) {
      entry = interned(name.substr(0, version));
    }
  }
  return names;
}

}  // namespace

const char* callback_name(CUpti_CallbackDomain domain, uint32_t id) {
  static const Table runtime = table_of(kRuntimeNames);
  static const Table driver = table_of(kDriverNames);
  if (id >= kMostCallbackIds) return nullptr;
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) return runtime[id];
  return domain == CUPTI_CB_DOMAIN_DRIVER_API ? driver[id] : nullptr;
}

ApiCall::ApiCall(CUpti_CallbackDomain domain, uint32_t id, const void* params, const char* symbol)
    : domain_(domain),
      id_(id),
      params_(params),
      symbol_(symbol),
      correlation_(next_correlation.fetch_add(1, std::memory_order_relaxed)),
      start_(now()) {
  if (wants_callback(domain_, id_)) tell_subscriber(CUPTI_API_ENTER);
}

ApiCall::~ApiCall() {
  if (wants_callback(domain_, id_)) tell_subscriber(CUPTI_API_EXIT);
  record_api_call({domain_, id_, correlation_, result_, start_, now()});
}

const char* ApiCall::name() const {
  static const Table runtime = without_versions(table_of(kRuntimeNames));
  const char* name = domain_ == CUPTI_CB_DOMAIN_RUNTIME_API ? runtime[id_] : callback_name(domain_, id_);
  return name == nullptr ? "" : name;
}

void ApiCall::tell_subscriber(CUpti_ApiCallbackSite site) {
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = name();
  data.functionParams = params_;
  data.functionReturnValue = site == CUPTI_API_EXIT ? &result_ : nullptr;
  data.symbolName = symbol_;
  const Context* context = has_context(current_device()) ? context_of(current_device()) : nullptr;
  data.context = reinterpret_cast<CUcontext>(const_cast<Context*>(context));
  data.contextUid = context == nullptr ? 0 : context->id;
  data.correlationData = &data_of_subscriber_;
  data.correlationId = correlation_;
  call_subscriber(domain_, id_, &data);
}

}  // namespace nogpu
