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

struct Line {
  store::CodeLocation location;
  std::map<std::string, ModeRow> by_work;
  std::set<std::uint8_t> compiled;  // of its matrix work, whose operators have other names in a graph
};

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
    if (mode == kCompiled)
      line.compiled.insert(use.computed);
    else
      line.by_work[rules::work_of(use.op)].computed[mode].insert(use.computed);
  }
  return lines;
}

}  // namespace

bool ModeRow::differs() const {
  const std::set<std::uint8_t>* first = nullptr;
  for (const std::set<std::uint8_t>& dtypes : computed) {
    if (dtypes.empty()) continue;
    if (first != nullptr && *first != dtypes) return true;
    first = &dtypes;
  }
  return false;
}

std::vector<ModeRow> mode_rows(const store::RunData& data) {
  std::vector<ModeRow> rows;
  for (auto& [place, line] : lines_of(data)) {
    for (auto& [work, row] : line.by_work) {
      if (rules::is_matrix_work(work)) row.computed[kCompiled] = line.compiled;
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
