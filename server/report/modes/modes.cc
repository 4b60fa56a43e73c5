#include "server/report/modes/modes.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_join.h"
#include "server/report/model/json_values.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/places/code_places.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;
using rules::kModeNames;
using rules::Mode;

constexpr std::uint8_t kNone = 0xff;

constexpr std::size_t at(Mode mode) { return static_cast<std::size_t>(mode); }

// The dtypes that operators computed in, by the dtype of their region; kNone stands for no region.
using ByRegion = std::map<std::uint8_t, std::set<std::uint8_t>>;

struct Line {
  store::CodeLocation location;
  std::map<std::string, ModeRow> by_work;
  std::map<std::string, ByRegion> eager;
  // Matrix work of a compiled graph. Its operators have other names there: linear is addmm, conv1d is convolution.
  ByRegion compiled;
  std::array<std::set<std::uint8_t>, kModeNames.size()> matrix;
};

std::uint8_t region_dtype(const store::RunData& data, const store::OperatorUse& use) {
  return use.region == 0 || !data.regions[use.region].enabled ? kNone : data.regions[use.region].dtype;
}

// A region counts only where both ran: deep steps need not have seen eager code in each region that the graph ran in.
bool differ(const ByRegion& eager, const ByRegion& compiled) {
  return std::ranges::any_of(compiled, [&](const auto& region) {
    const auto same = eager.find(region.first);
    return same != eager.end() && same->second != region.second;
  });
}

void add(Line& line, const store::RunData& data, const store::OperatorUse& use, Mode mode) {
  if (mode == Mode::kCompile && use.is(lanes::kUseCompiled)) {
    line.compiled[region_dtype(data, use)].insert(use.computed);
    line.matrix[at(mode)].insert(use.computed);
    return;
  }
  const std::string work = rules::work_of(use.op);
  line.by_work[work].computed[at(mode)].insert(use.computed);
  if (mode == Mode::kEager) line.eager[work][region_dtype(data, use)].insert(use.computed);
  if (rules::is_matrix_work(work)) line.matrix[at(mode)].insert(use.computed);
}

using Lines = std::map<std::pair<std::string, std::int64_t>, Line>;

Lines lines_of(const store::RunData& data) {
  const auto times = rules::times_of_uses(data);
  Lines lines;
  for (const store::OperatorUse& use : data.operator_uses) {
    if (times[use.id] == 0 || use.phase == lanes::Phase::kBackward || use.computed == kNone || use.stack == 0 ||
        use.is(lanes::kUseView | lanes::kUseConverts) || rules::called_by_engine(data, use))
      continue;
    const auto place = data.user_location(use.stack);
    const std::optional<Mode> mode = rules::mode_of(data, use);
    if (!place || !mode) continue;
    Line& line = lines[{place->file, place->line}];
    line.location = *place;
    add(line, data, use, *mode);
  }
  return lines;
}

// Whether this is matrix work under the name that only the graph uses, beside the name that eager code uses.
bool is_another_name(const Line& line, const std::string& work) {
  if (!rules::is_matrix_work(work) || line.eager.contains(work)) return false;
  return std::ranges::any_of(line.eager, [](const auto& other) { return rules::is_matrix_work(other.first); });
}

void add_matrix_work(const Line& line, const std::string& work, ModeRow& row) {
  if (!rules::is_matrix_work(work)) return;
  for (std::size_t mode = 0; mode < kModeNames.size(); ++mode)
    if (row.computed[mode].empty()) row.computed[mode] = line.matrix[mode];
  const auto eager = line.eager.find(work);
  row.compiled_differs = eager != line.eager.end() && differ(eager->second, line.compiled);
}

Json computed_json(const ModeRow& row) {
  Json computed = Json::object();
  for (std::size_t mode = 0; mode < kModeNames.size(); ++mode) {
    if (row.computed[mode].empty()) continue;
    Json dtypes = Json::array();
    for (const std::uint8_t dtype : row.computed[mode]) dtypes.push_back(store::dtype_name(dtype));
    computed[std::string(kModeNames[mode])] = std::move(dtypes);
  }
  return computed;
}

}  // namespace

bool ModeRow::differs() const {
  if (compiled_differs) return true;
  const std::set<std::uint8_t>* first = nullptr;
  for (const Mode mode : {Mode::kEager, Mode::kScript, Mode::kTrace, Mode::kExport}) {
    const std::set<std::uint8_t>& here = computed[at(mode)];
    if (here.empty()) continue;
    if (first == nullptr)
      first = &here;
    else if (!std::ranges::includes(*first, here))
      return true;
  }
  return false;
}

std::vector<ModeRow> mode_rows(const store::RunData& data) {
  std::vector<ModeRow> rows;
  for (auto& [place, line] : lines_of(data)) {
    for (auto& [work, row] : line.by_work) {
      if (is_another_name(line, work)) continue;
      add_matrix_work(line, work, row);
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

Json operators_by_mode_json(const store::RunData& data) {
  Json rows = Json::array();
  for (const ModeRow& row : mode_rows(data))
    rows.push_back({{"location", location_json(data, row.location)},
                    {"shared_operator", row.work},
                    {"dtypes_by_mode", computed_json(row)},
                    {"differs", row.differs()}});
  return rows;
}

}  // namespace castscope::report
