#include "server/exported/findings.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/exported/operator_facts.h"
#include "server/rules/evidence/export_words.h"
#include "server/rules/evidence/finding.h"

namespace castscope::exported {
namespace {

using rules::counted;

constexpr std::size_t kNamed = 10;

std::string short_place(const SourcePlace& place) {
  return absl::StrCat(place.at.file.substr(place.at.file.rfind('/') + 1), ":", place.at.line);
}

// Returns a sentence with both dtypes ("recorded in bfloat16 runs in float32") where all steps change alike; "" where
// they change in several ways.
std::string one_change(const std::vector<const Step*>& steps) {
  std::set<std::pair<Dtype, Dtype>> changes;
  for (const Step* step : steps) changes.emplace(step->recorded, step->runs.dtype);
  if (changes.size() != 1) return "";
  const auto& [recorded, runs] = *changes.begin();
  return absl::StrCat("recorded in ", std::string(name(recorded)), steps.size() == 1 ? " runs in " : " run in ",
                      std::string(name(runs)));
}

std::string stop_text(const Stop& stop) {
  const std::string at = stop.node->place ? absl::StrCat(" at ", short_place(*stop.node->place)) : "";
  if (stop.is_check)
    return absl::StrCat("the program stops", at, ", where it checks for ", std::string(name(stop.wanted)), " and gets ",
                        std::string(name(stop.given)));
  return absl::StrCat("the program stops", at, ", where ", short_name(*stop.node), " gets ",
                      std::string(name(stop.wanted)), " and ", std::string(name(stop.given)));
}

template <typename Is>
const Stop* first_stop(const Walk& walk, Is is) {
  const auto at = std::find_if(walk.stops.begin(), walk.stops.end(), is);
  return at == walk.stops.end() ? nullptr : &*at;
}

bool is_of_the_loss(const Stop& stop) { return stop.why == Why::kRegionLost; }
// Returns whether the program as it stands stops here: a region gives a dtype that was not recorded, or an operator
// gets two dtypes, whatever led to that. (A region that was dropped before the program was decomposed leaves no other
// trace.)
bool is_its_own(const Stop& stop) { return stop.why == Why::kRegionKept || (stop.why == Why::kNone && !stop.is_check); }

// Returns the first line of each function but the one that holds `but`.
std::vector<store::CodeLocation> first_lines(const std::vector<const Node*>& nodes, const store::CodeLocation* but) {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<store::CodeLocation> lines;
  if (but != nullptr) seen.emplace(but->file, but->function);
  for (const Node* node : nodes) {
    if (node->place && seen.emplace(node->place->at.file, node->place->at.function).second)
      lines.push_back(node->place->at);
  }
  return lines;
}

void add_programs_name(const Program& program, store::Finding& finding) {
  if (program.name != "model") finding.evidence_text.emplace_back("program", program.name);
}

std::vector<const Node*> nodes_of(const std::vector<const Step*>& steps) {
  std::vector<const Node*> nodes;
  for (const Step* step : steps) nodes.push_back(step->node);
  return nodes;
}

store::Finding lost_region(const Program& program, const Walk& walk, const std::vector<const Step*>& lost) {
  std::vector<const Step*> changed, followers;
  for (const Step* step : lost) {
    if (step->runs.dtype != step->recorded) changed.push_back(step);
  }
  for (const Step& step : walk.steps) {
    if (!step.lost && !step.casts && step.runs.dtype != step.recorded && step.runs.why == Why::kRegionLost)
      followers.push_back(&step);
  }
  store::Finding finding;
  finding.rule = rules::kExportDropsRegion;
  finding.severity = rules::kExportSeverity;
  finding.title = "this program was exported inside an autocast region, which torch.export dropped";
  std::vector<const Step*> all = changed;
  all.insert(all.end(), followers.begin(), followers.end());
  if (const std::string change = one_change(all); !change.empty())
    absl::StrAppend(&finding.title, ": ", counted(all.size(), "operator"), " ", change);
  else if (!all.empty())
    absl::StrAppend(&finding.title, ": ", counted(all.size(), "operator"), all.size() == 1 ? " runs" : " run",
                    " in another dtype than was recorded");
  const Stop* const stop = first_stop(walk, is_of_the_loss);
  if (stop != nullptr) absl::StrAppend(&finding.title, all.empty() ? ": " : ", and ", stop_text(*stop));
  const std::vector<const Node*> nodes = nodes_of(lost);
  const auto placed =
      std::find_if(nodes.begin(), nodes.end(), [](const Node* node) { return node->place.has_value(); });
  if (placed != nodes.end()) finding.location = (*placed)->place->at;
  finding.related = first_lines(nodes, finding.location ? &*finding.location : nullptr);
  if (stop != nullptr && stop->node->place) finding.related.push_back(stop->node->place->at);
  finding.evidence_text.emplace_back("operator_names", names_and_counts(nodes));
  if (!followers.empty()) finding.evidence_text.emplace_back("follower_names", names_and_counts(nodes_of(followers)));
  finding.evidence_number = {{"node_count", static_cast<std::int64_t>(lost.size())},
                             {"follower_count", static_cast<std::int64_t>(followers.size())}};
  add_programs_name(program, finding);
  finding.fix = rules::kExportDropsRegionFix;
  return finding;
}

store::Finding failing_check(const Program& program, const Stop& stop) {
  store::Finding finding;
  finding.rule = rules::kExportCheckFails;
  finding.severity = rules::kExportSeverity;
  const std::string wanted(name(stop.wanted)), given(name(stop.given));
  finding.title = stop.is_check ? absl::StrCat("the exported program stops here: it checks that a tensor is ", wanted,
                                               ", as was recorded, and its autocast region makes it ", given)
                                : absl::StrCat("the exported program stops here: ", short_name(*stop.node), " gets ",
                                               wanted, " and ", given);
  if (stop.node->place) finding.location = stop.node->place->at;
  finding.evidence_text = {{"recorded_dtype", wanted}, {"computed_in", given}};
  add_programs_name(program, finding);
  finding.fix = stop.is_check ? rules::kExportCheckFailsFix : rules::kExportTwoDtypesFix;
  return finding;
}

}  // namespace

std::string names_and_counts(const std::vector<const Node*>& nodes) {
  std::vector<std::pair<std::string, std::size_t>> names;
  std::map<std::string, std::size_t> places;
  for (const Node* node : nodes) {
    const auto [at, is_new] = places.try_emplace(short_name(*node), names.size());
    if (is_new) names.emplace_back(at->first, 0);
    names[at->second].second++;
  }
  std::vector<std::string> words;
  for (const auto& [name, times] : names) {
    if (words.size() == kNamed) {
      words.push_back(absl::StrCat("and ", names.size() - kNamed, " more"));
      break;
    }
    words.push_back(times == 1 ? name : absl::StrCat(name, " ×", times));
  }
  return absl::StrJoin(words, ", ");
}

std::vector<store::Finding> findings_of(const Program& program, const Walk& walk) {
  std::vector<store::Finding> findings;
  std::vector<const Step*> lost;
  for (const Step& step : walk.steps) {
    if (step.lost) lost.push_back(&step);
  }
  // Operators that merely keep float32 do no harm where nothing else changes.
  const bool harms =
      first_stop(walk, is_of_the_loss) != nullptr ||
      std::any_of(lost.begin(), lost.end(), [](const Step* step) { return step->runs.dtype != step->recorded; });
  if (harms) findings.push_back(lost_region(program, walk, lost));
  // The program stops at the first of these, so that nobody ever sees the others.
  if (const Stop* const stop = first_stop(walk, is_its_own)) findings.push_back(failing_check(program, *stop));
  return findings;
}

}  // namespace castscope::exported
