// libcupti for tests: which single functions are recorded, and nothing else that works.
#include <cstdint>
#include <set>

namespace {
std::set<std::uint32_t>& recorded() {
  static std::set<std::uint32_t> functions;
  return functions;
}
}  // namespace

extern "C" {
std::set<std::uint32_t>* cupti_double_recorded() { return &recorded(); }

int cuptiActivityEnableRuntimeApi(std::uint32_t function, std::uint8_t on) {
  on != 0 ? (void)recorded().insert(function) : (void)recorded().erase(function);
  return 0;
}
int cuptiActivityEnableDriverApi(std::uint32_t, std::uint8_t) { return 0; }
int cuptiGetVersion(std::uint32_t* version) {
  *version = 130001;
  return 0;
}
#define NOTHING(name) \
  int name() { return 1; }
NOTHING(cuptiSubscribe)
NOTHING(cuptiEnableCallback)
NOTHING(cuptiUnsubscribe)
NOTHING(cuptiActivityRegisterCallbacks)
NOTHING(cuptiActivityEnable)
NOTHING(cuptiActivityDisable)
NOTHING(cuptiActivityFlushAll)
NOTHING(cuptiActivityGetNextRecord)
NOTHING(cuptiActivityGetNumDroppedRecords)
NOTHING(cuptiActivityPushExternalCorrelationId)
NOTHING(cuptiActivityPopExternalCorrelationId)
NOTHING(cuptiGetTimestamp)
NOTHING(cuptiGetResultString)
}
