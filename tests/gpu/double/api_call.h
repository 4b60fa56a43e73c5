// One call of a CUDA function, as CUPTI reports it: a correlation id, callbacks at both ends, and an API record.
#pragma once

#include <cupti.h>

#include <cstdint>

namespace nogpu {

class ApiCall {
 public:
  // Params is the target of cuptiCallbackData.functionParams; symbol is the kernel that is launched.
  explicit ApiCall(CUpti_runtime_api_trace_cbid id, const void* params = nullptr, const char* symbol = nullptr)
      : ApiCall(CUPTI_CB_DOMAIN_RUNTIME_API, id, params, symbol) {}
  explicit ApiCall(CUpti_driver_api_trace_cbid id, const void* params = nullptr, const char* symbol = nullptr)
      : ApiCall(CUPTI_CB_DOMAIN_DRIVER_API, id, params, symbol) {}
  ~ApiCall();
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;

  uint32_t correlation() const { return correlation_; }
  const char* name() const;
  uint64_t start() const { return start_; }
  // Keeps the function's result for the subscribers.
  template <typename Result>
  Result returns(Result result) {
    result_ = static_cast<uint32_t>(result);
    return result;
  }

 private:
  ApiCall(CUpti_CallbackDomain domain, uint32_t id, const void* params, const char* symbol);
  void tell_subscriber(CUpti_ApiCallbackSite site);

  CUpti_CallbackDomain domain_;
  uint32_t id_;
  const void* params_;
  const char* symbol_;
  uint32_t correlation_;
  uint32_t result_ = 0;
  uint64_t data_of_subscriber_ = 0;
  uint64_t start_;
};

// "cudaLaunchKernel_v7000", or null.
const char* callback_name(CUpti_CallbackDomain domain, uint32_t id);

}  // namespace nogpu
