#include "server/report/modes.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_join.h"
#include "server/rules/code_places.h"
#include "server/rules/operators.h"
#include "server/store/names.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;
enum Mode : std::size_t { kEager, kTorchScript, kCompiled };

constexpr std::uint8_t kNone = 0xff;

Mode mode_of(const store::OperatorUse& use) {
  return use.is(lanes::kUseCompiled) ? kCompiled : use.is(lanes::kUseScript) ? kTorchScript : kEager;
}

// What ran in regions of one dtype; those without a region are under kNone.
using ByRegion = std::map<std::uint8_t, std::set<std::uint8_t>>;

struct Line {
  store::CodeLocation location;
  std::map<std::string, ModeRow> by_work;
  std::map<std::string, ByRegion> eager;
  ByRegion compiled;  // of its matrix work, whose operators have other names in a graph
};

std::uint8_t region_dtype(const store::RunData& data, const store::OperatorUse& use) {
  return use.region == 0 || !data.region(use.region).enabled ? kNone : data.region(use.region).dtype;
}

// Deep steps need not have seen eager code in each region that the graph ran in.
bool differ(const ByRegion& eager, const ByRegion& compiled) {
  return std::ranges::any_of(compiled, [&](const auto& region) {
    const auto same = eager.find(region.first);
    return same != eager.end() && same->second != region.second;
  });
}

using Lines = std::map<std::pair<std::string, std::int64_t>, Line>;

Lines lines_of(const store::RunData& data) {
  std::vector<std::uint64_t> times(data.operator_uses.size() + 1);
  for (const store::UseCount& count : data.use_counts) times[count.use] += count.times;
  Lines lines;
  for (const store::OperatorUse& use : data.operator_uses) {
    if (times[use.id] == 0 || use.phase == lanes::Phase::kBackward || use.computed == kNone || use.stack == 0 ||
        use.is(lanes::kUseView | lanes::kUseConverts) || rules::called_by_engine(data, use))
      continue;
    const auto at = data.user_location(use.stack);
    if (!at) continue;
    Line& line = lines[{at->file, at->line}];
    line.location = *at;
    const Mode mode = mode_of(use);
    const std::string work = rules::work_of(use.op);
    if (mode == kCompiled) {
      line.compiled[region_dtype(data, use)].insert(use.computed);
      continue;
    }
    line.by_work[work].computed[mode].insert(use.computed);
    if (mode == kEager) line.eager[work][region_dtype(data, use)].insert(use.computed);
  }
  return lines;
}

}  // namespace

bool ModeRow::differs() const {
  const auto &eager = computed[kEager], &script = computed[kTorchScript], &compiled = computed[kCompiled];
  const auto& python = eager.empty() ? compiled : eager;
  return compiled_differs || (!script.empty() && !python.empty() && script != python);
}

std::vector<ModeRow> mode_rows(const store::RunData& data) {
  std::vector<ModeRow> rows;
  for (auto& [place, line] : lines_of(data)) {
    for (auto& [work, row] : line.by_work) {
      if (rules::is_matrix_work(work)) {
        for (const auto& [region, dtypes] : line.compiled) row.computed[kCompiled].insert(dtypes.begin(), dtypes.end());
        row.compiled_differs = differ(line.eager[work], line.compiled);
      }
      const auto ran = std::ranges::count_if(row.computed, [](const auto& dtypes) { return !dtypes.empty(); });
      if (ran < 2) continue;
      row.location = line.location;
      row.work = work;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string dtype_list(const std::set<std::uint8_t>& dtypes) {
  return absl::StrJoin(dtypes, ", ", [](std::string* out, std::uint8_t dtype) { *out += store::dtype_name(dtype); });
}

Json modes_json(const store::RunData& data) {
  Json list = Json::array();
  for (const ModeRow& row : mode_rows(data)) {
    Json computed = Json::object();
    for (std::size_t mode = 0; mode < kModes.size(); ++mode) {
      if (row.computed[mode].empty()) continue;
      Json dtypes = Json::array();
      for (const std::uint8_t dtype : row.computed[mode]) dtypes.push_back(store::dtype_name(dtype));
      computed[std::string(kModes[mode])] = std::move(dtypes);
    }
    list.push_back(
        {{"location", {{"file", row.location.file}, {"line", row.location.line}, {"function", row.location.function}}},
         {"operator", row.work},
         {"computed_in", std::move(computed)},
         {"differs", row.differs()}});
  }
  return list;
}

}  // namespace castscope::report
