// A run at one moment, read and judged: every panel of the viewer shows data from one. It never changes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/functional/function_ref.h"
#include "server/judging/judged_run.h"
#include "server/report/model/model.h"
#include "server/store/run/run_data.h"

namespace castscope::web {

// The number of definitions of each kind. These numbers only ever grow.
struct DefinitionCounts {
  std::size_t sites = 0, regions = 0, uses = 0, kernels = 0;
  std::uint32_t together() const { return static_cast<std::uint32_t>(sites + regions + uses + kernels); }
};

class SearchedRun;

class Snapshot {
 public:
  // `number` identifies this judgement; each has another one.
  Snapshot(judging::JudgedRunPtr run, std::uint64_t number);

  const store::RunData& data() const { return data_; }
  const judging::JudgedRunPtr& run() const { return run_; }
  const report::Model& model() const { return model_; }
  std::uint64_t number() const { return number_; }
  DefinitionCounts definitions() const {
    return {data_.sites.size(), data_.regions.size(), data_.operator_uses.size(), data_.kernels.size()};
  }
  // What the search makes of the snapshot (search/searched_run.h), and what is kept with it: `make` is called once.
  const SearchedRun& searched(absl::FunctionRef<std::shared_ptr<const SearchedRun>()> make) const {
    std::call_once(is_searched_, [&] { searched_ = make(); });
    return *searched_;
  }

 private:
  const judging::JudgedRunPtr run_;
  const store::RunData& data_;  // of the run
  const report::Model model_;
  const std::uint64_t number_;
  mutable std::once_flag is_searched_;
  mutable std::shared_ptr<const SearchedRun> searched_;
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

// "mm in bfloat16" for an operator use.
std::string name_of_use(const store::OperatorUse&);

}  // namespace castscope::web
