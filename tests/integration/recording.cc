// Tells whether PyTorch has any observer to call at the begin and end of an operator.
#include <ATen/record_function.h>

extern "C" __attribute__((visibility("default"))) int operators_are_recorded() {
  return at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value();
}
