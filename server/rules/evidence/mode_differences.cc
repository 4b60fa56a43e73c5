#include "server/rules/evidence/mode_differences.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/regions.h"
#include "server/store/run/names.h"

namespace castscope::rules {
namespace {

using store::OperatorUse;
using store::RunData;

struct OperatorSpot {
  Line line;
  std::string op;
  auto operator<=>(const OperatorSpot&) const = default;
};
struct Seen {
  std::vector<const OperatorUse*> eager, other;
  std::set<std::uint8_t> outside;  // dtypes that eager code computed in without a region
};

bool is_compared(const OperatorUse& use) {
  return use.phase != lanes::Phase::kBackward && is_floating(use.computed) &&
         !use.is(lanes::kUseView | lanes::kUseConverts) && !raised(use);
}

// Graphs have other names for matrix work: linear is addmm in a decomposed program, conv1d is convolution. Such an
// operator is compared with all matrix work of its line.
void add_other_names(std::map<OperatorSpot, Seen>& spots) {
  std::map<Line, std::vector<const OperatorUse*>> matrix_work;
  std::map<Line, std::set<std::uint8_t>> outside;
  for (const auto& [spot, seen] : spots)
    if (is_matrix_work(spot.op)) {
      matrix_work[spot.line].insert(matrix_work[spot.line].end(), seen.eager.begin(), seen.eager.end());
      outside[spot.line].insert(seen.outside.begin(), seen.outside.end());
    }
  for (auto& [spot, seen] : spots)
    if (seen.eager.empty() && is_matrix_work(spot.op))
      seen.eager = matrix_work[spot.line], seen.outside = outside[spot.line];
}

std::map<OperatorSpot, Seen> spots_of(const RunData& data, const std::set<Mode>& modes) {
  std::map<OperatorSpot, Seen> spots;
  const auto times = times_of_uses(data);
  for (const OperatorUse& use : data.operator_uses) {
    if (times[use.id] == 0 || !is_compared(use)) continue;
    const std::optional<Mode> mode = mode_of(data, use);
    const bool other = mode.has_value() && modes.contains(*mode);
    if (!other && mode != Mode::kEager) continue;
    Seen& seen = spots[{line_of(data, use.stack), work_of(use.op)}];
    if (!other && !in_autocast(data, use))
      seen.outside.insert(use.computed);
    else
      (other ? seen.other : seen.eager).push_back(&use);
  }
  add_other_names(spots);
  return spots;
}

bool computed_in(const std::vector<const OperatorUse*>& uses, std::uint8_t dtype) {
  return std::ranges::any_of(uses, [&](const OperatorUse* use) { return use->computed == dtype; });
}

// Returns the lines at which scripts open regions of their own.
std::set<Line> script_regions(const RunData& data) {
  std::set<Line> lines;
  for (const store::Region& region : data.regions)
    if (region.kind == lanes::RegionKind::kScript) lines.insert(line_of(data, region.stack));
  return lines;
}

// Returns the eager uses that ran as `other` did: in a region of the same dtype. If `other` ran in no region, a program
// of torch.export is compared with all of them, and a script or a trace with those in regions that the script has too.
std::vector<const OperatorUse*> alike(const RunData& data, const Seen& seen, const OperatorUse& other,
                                      const std::set<Line>& script_regions) {
  const store::Region* region = enabled_region(data, other);
  if (region == nullptr && seen.outside.contains(other.computed)) return {};
  const bool exported = mode_of(data, other) == Mode::kExport;
  std::vector<const OperatorUse*> found;
  for (const OperatorUse* eager : seen.eager) {
    const store::Region* its = enabled_region(data, *eager);
    if (region != nullptr ? its->dtype == region->dtype
                          : exported || script_regions.contains(line_of(data, its->stack)))
      found.push_back(eager);
  }
  return found;
}

// Finds the operators for which TorchScript brings low values to float32 and eager code does not. If such an operator
// had several dtypes in eager code, a low one among them, its float32 in the script counts as a difference, although
// eager code computed in float32 too.
std::set<OperatorSpot> raised_by_script(const RunData& data) {
  std::set<OperatorSpot> script, eager;
  for (const store::Site& site : data.sites)
    if (is_low(site.from) && site.to == kFloat)
      (site.cause == lanes::Cause::kScript ? script : eager).insert({line_of(data, site.stack), work_of(site.op)});
  for (const OperatorSpot& spot : eager) script.erase(spot);
  return script;
}

const OperatorUse* low_one(const std::vector<const OperatorUse*>& uses) {
  const auto low = std::ranges::find_if(uses, [](const OperatorUse* use) { return is_low(use->computed); });
  return low == uses.end() ? nullptr : *low;
}

}  // namespace

std::string ModeDifference::dtype() const { return std::string(store::dtype_name(other->computed)); }
std::string ModeDifference::eager_dtype() const { return std::string(store::dtype_name(eager->computed)); }

ModeDifferences::ModeDifferences(const RunData& data, const std::set<Mode>& modes)
    : data_(data), graph_(data), told_(lines_cast_though_off(data)) {
  const std::set<Line> regions = script_regions(data);
  const std::set<OperatorSpot> raised = raised_by_script(data);
  for (const auto& [spot, seen] : spots_of(data, modes))
    for (const OperatorUse* other : seen.other) {
      const std::vector<const OperatorUse*> eager = alike(data, seen, *other, regions);
      if (eager.empty()) continue;
      const OperatorUse* low = low_one(eager);
      if (!computed_in(eager, other->computed))
        found_[other->id] = {other, eager.front()};
      else if (low != nullptr && other->computed == kFloat && other->is(lanes::kUseScript) && raised.contains(spot))
        found_[other->id] = {other, low};
    }
}

std::map<Line, Differences> ModeDifferences::first() const {
  std::map<Line, Differences> lines;
  for (const auto& [id, difference] : found_)
    if (!follows(id)) lines[line_of(data_, difference.other->stack)].push_back(difference);
  return lines;
}

std::set<Line> ModeDifferences::lines() const {
  std::set<Line> lines;
  for (const auto& [id, difference] : found_) lines.insert(line_of(data_, difference.other->stack));
  return lines;
}

void ModeDifferences::add_evidence(Finding& finding, const Differences& of) const {
  finding.evidence_text = {{"computed_in", of.front().dtype()}, {"eager_computed_in", of.front().eager_dtype()}};
  if (std::string lines = followers(of); !lines.empty())
    finding.evidence_text.emplace_back("follower_lines", std::move(lines));
  finding.deep_only = true;
}

std::string ModeDifferences::followers(const Differences& of) const {
  std::set<store::OperatorUseId> reached;
  for (const ModeDifference& difference : of) collect_reached(difference.other->id, reached);
  std::set<Line> lines;
  for (const store::OperatorUseId id : reached)
    if (const auto at = found_.find(id); at != found_.end()) lines.insert(line_of(data_, at->second.other->stack));
  for (const ModeDifference& difference : of) lines.erase(line_of(data_, difference.other->stack));
  return absl::StrJoin(lines, ", ", [](std::string* out, const Line& line) { *out += line.short_text(); });
}

// Views and casts hand a value on to the operator that computes with it.
bool ModeDifferences::hands_on(store::OperatorUseId use) const {
  return graph_.use(use).is(lanes::kUseView | lanes::kUseConverts);
}

bool ModeDifferences::is_told(const store::OperatorUse& use) const {
  return use.is(lanes::kUseScript) && told_.contains(line_of(data_, use.stack));
}

bool ModeDifferences::follows(store::OperatorUseId use) const {
  std::set<store::OperatorUseId> asked;
  std::vector<store::OperatorUseId> open = {use};
  while (!open.empty()) {
    const store::OperatorUseId at = open.back();
    open.pop_back();
    for (const UseGraph::Edge& edge : graph_.into(at)) {
      const store::OperatorUseId from = edge.flow->from;
      if (from != use && (found_.contains(from) || is_told(graph_.use(from)))) return true;
      if (hands_on(from) && asked.insert(from).second) open.push_back(from);
    }
  }
  return false;
}

void ModeDifferences::collect_reached(store::OperatorUseId use, std::set<store::OperatorUseId>& reached) const {
  for (const UseGraph::Edge& edge : graph_.out_of(use)) {
    const store::OperatorUseId to = edge.flow->to;
    if ((hands_on(to) || found_.contains(to)) && reached.insert(to).second) collect_reached(to, reached);
  }
}

std::string operators_of(const Differences& differences) {
  std::set<std::string> operators;
  for (const ModeDifference& difference : differences) operators.insert(work_of(difference.other->op));
  return absl::StrJoin(operators, ", ");
}

}  // namespace castscope::rules
