// A run at one moment, read and judged: what every panel of the viewer is told from. Never changes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/report/model/model.h"
#include "server/rules/inquiry/settings.h"
#include "server/store/run/run_data.h"

namespace castscope::web {

// How many definitions of each kind there are. They only ever grow.
struct DefinitionCounts {
  std::size_t sites = 0, regions = 0, uses = 0, kernels = 0;
  std::uint32_t together() const { return static_cast<std::uint32_t>(sites + regions + uses + kernels); }
};

class Snapshot {
 public:
  // `number`: of this judgement, another for each. Of a run that goes on here, whose file has no source lines yet, they
  // are read from the disk.
  enum class SourceLines { kAsKept, kRead };
  Snapshot(store::RunData data, const rules::Settings& settings, std::uint64_t number,
           SourceLines lines = SourceLines::kAsKept);
  Snapshot(const Snapshot&) = delete;  // the model refers to the data
  Snapshot& operator=(const Snapshot&) = delete;

  const store::RunData& data() const { return data_; }
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
  report::Model judged(const rules::Settings& settings, SourceLines lines);
  void gather_words();

  store::RunData data_;  // before the model
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
