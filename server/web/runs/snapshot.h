// A run at one moment, read and judged: what every panel of the viewer is told from. Never changes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/judging/judged_run.h"
#include "server/report/model/model.h"
#include "server/store/run/run_data.h"

namespace castscope::web {

// How many definitions of each kind there are. They only ever grow.
struct DefinitionCounts {
  std::size_t sites = 0, regions = 0, uses = 0, kernels = 0;
  std::uint32_t together() const { return static_cast<std::uint32_t>(sites + regions + uses + kernels); }
};

class Snapshot {
 public:
  // `number`: of this judgement, another for each.
  Snapshot(judging::JudgedRunPtr run, std::uint64_t number);

  const store::RunData& data() const { return data_; }
  const judging::JudgedRunPtr& run() const { return run_; }
  const report::Model& model() const { return model_; }
  std::uint64_t number() const { return number_; }
  DefinitionCounts definitions() const {
    return {data_.sites.size(), data_.regions.size(), data_.operator_uses.size(), data_.kernels.size()};
  }
  // What a search looks at: names, files, modules, in lower case. Index = id - 1.
  const std::vector<std::string>& words_of_sites() const { return sites_; }
  const std::vector<std::string>& words_of_regions() const { return regions_; }
  const std::vector<std::string>& words_of_uses() const { return uses_; }
  const std::vector<std::string>& words_of_kernels() const { return kernels_; }

 private:
  void gather_words();

  const judging::JudgedRunPtr run_;
  const store::RunData& data_;  // of the run
  const report::Model model_;
  const std::uint64_t number_;
  std::vector<std::string> sites_, regions_, uses_, kernels_;
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

// "mm in bfloat16" of an operator use
std::string name_of_use(const store::OperatorUse&);
// "train.py:12" for a search, "" without a line.
std::string place_words(const store::RunData&, std::uint32_t stack);

}  // namespace castscope::web
