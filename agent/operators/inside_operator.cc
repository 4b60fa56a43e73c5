#include "agent/operators/inside_operator.h"

#include <dlfcn.h>
#include <unwind.h>

#include <cstring>

namespace castscope::operators {
namespace {

constexpr int kMostLevels = 256;

struct Walk {
  int levels = 0, operators = 0;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  void* start = _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(_Unwind_GetIP(context)));
  Dl_info info{};
  // dladdr names the nearest symbol below: right only when it stands at the function's first byte.
  if (start != nullptr && dladdr(start, &info) != 0 && info.dli_saddr == start && info.dli_sname != nullptr) {
    constexpr char kOperators[] = "_ZN2at4_ops";
    walk.operators += std::strncmp(info.dli_sname, kOperators, sizeof kOperators - 1) == 0;
    // Python runs between them: what is called here is called by it.
    if (std::strncmp(info.dli_sname, "_PyEval_EvalFrame", 17) == 0) return _URC_END_OF_STACK;
  }
  return walk.operators > 1 || ++walk.levels > kMostLevels ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

bool is_inside_another_operator() {
  Walk walk;
  _Unwind_Backtrace(visit, &walk);
  return walk.operators > 1;
}

}  // namespace castscope::operators
