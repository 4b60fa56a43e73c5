// A run at one moment, read and judged: every panel of the viewer shows data from one. It never changes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/judging/judged_run.h"
#include "server/report/model/model.h"
#include "server/store/run/run_data.h"

namespace castscope::web {

// The number of definitions of each kind. These numbers only ever grow.
struct DefinitionCounts {
  std::size_t sites = 0, regions = 0, uses = 0, kernels = 0;
  std::uint32_t together() const { return static_cast<std::uint32_t>(sites + regions + uses + kernels); }
};

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
  // The texts that a search looks through: names, files, modules, in lower case.
  const store::Table<std::string, store::Site>& words_of_sites() const { return sites_; }
  const store::Table<std::string, store::Region>& words_of_regions() const { return regions_; }
  const store::Table<std::string, store::OperatorUse>& words_of_uses() const { return uses_; }
  const store::Table<std::string, store::Kernel>& words_of_kernels() const { return kernels_; }

 private:
  void gather_words();

  const judging::JudgedRunPtr run_;
  const store::RunData& data_;  // of the run
  const report::Model model_;
  const std::uint64_t number_;
  store::Table<std::string, store::Site> sites_;
  store::Table<std::string, store::Region> regions_;
  store::Table<std::string, store::OperatorUse> uses_;
  store::Table<std::string, store::Kernel> kernels_;
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

// "mm in bfloat16" for an operator use.
std::string name_of_use(const store::OperatorUse&);
// "train.py:12" for searches; "" without a line.
std::string place_words(const store::RunData&, store::StackId stack);

}  // namespace castscope::web
