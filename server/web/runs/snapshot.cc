#include "server/web/runs/snapshot.h"

#include "server/store/run/names.h"

namespace castscope::web {

std::string name_of_use(const store::OperatorUse& use) {
  std::string op = use.op.starts_with("aten::") ? use.op.substr(6) : use.op;
  if (use.computed == 0xff) return op;
  return op.append(" in ").append(store::dtype_name(use.computed));
}

Snapshot::Snapshot(judging::JudgedRunPtr run, std::uint64_t number)
    : run_(std::move(run)), data_(run_->data), model_(report::model_of(*run_)), number_(number) {}

}  // namespace castscope::web
