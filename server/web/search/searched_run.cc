#include "server/web/search/searched_run.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace castscope::web {
namespace {

using timeline::Selection;
using timeline::ShadeKind;
using timeline::TrackKind;
using Ids = Selection::Ids;

constexpr std::size_t kKept = 8;  // answers

template <typename Definitions>
std::vector<std::string> texts_of(const DefinitionWords& words, const Definitions& definitions) {
  std::vector<std::string> texts;
  texts.reserve(definitions.size());
  for (const auto& one : definitions) texts.push_back(words.text(one));
  return texts;
}

bool stands_in(const SearchTerm& term, std::string_view text) {
  return std::any_of(term.values.begin(), term.values.end(),
                     [&](const SearchValue& value) { return text.find(value.text) != std::string_view::npos; });
}
bool is_one_of(const SearchTerm& term, std::string_view value) {
  const std::string form = matchable(value);
  return std::any_of(term.values.begin(), term.values.end(),
                     [&](const SearchValue& wanted) { return is_value(wanted, form); });
}

// For each term whether it holds for all events of a kind, whatever they are of.
std::vector<bool> holds_for_kind(const SearchQuery& query, ShadeKind kind) {
  const bool is_cast = kind == ShadeKind::kDown || kind == ShadeKind::kUp || kind == ShadeKind::kSame;
  std::vector<bool> holds;
  for (const SearchTerm& term : query) {
    bool held = false;
    if (!term.field) {
      held = stands_in(term, matchable(timeline::name(kind))) || stands_in(term, matchable(shown_name(kind)));
    } else if (*term.field == SearchField::kKind) {
      held = is_one_of(term, kind_word(kind)) || is_one_of(term, timeline::name(kind)) ||
             is_one_of(term, shown_name(kind)) || (is_cast && is_one_of(term, kAnyCast));
    }
    holds.push_back(held);
  }
  return holds;
}

// For each term the definitions of one sort for which it holds, by id. 0 stands for what has no definition.
template <typename Definitions>
std::vector<Ids> holding(const SearchQuery& query, const DefinitionWords& words, const Definitions& definitions,
                         const std::vector<std::string>& texts) {
  std::vector<Ids> all;
  for (const SearchTerm& term : query) {
    Ids& ids = all.emplace_back(definitions.size() + 1);
    if (term.field == SearchField::kKind) continue;
    std::size_t id = 0;
    for (const auto& one : definitions) {
      ++id;
      if (!term.field) {
        ids[id] = stands_in(term, texts[id - 1]);
        continue;
      }
      bool held = false;
      words.values(one, *term.field, [&](std::string_view value, bool) { held = held || is_one_of(term, value); });
      ids[id] = held;
    }
  }
  return all;
}

// The definitions for which all terms hold, some of them because of the kind of the events.
Ids all_hold(const SearchQuery& query, const std::vector<Ids>& holding, const std::vector<bool>& for_kind) {
  Ids found(holding.empty() ? 0 : holding.front().size(), true);
  for (std::size_t term = 0; term < query.size(); ++term) {
    for (std::size_t id = 0; id < found.size(); ++id)
      found[id] = found[id] && (for_kind[term] || holding[term][id]) != query[term].negated;
  }
  return found;
}

bool any(const Ids& ids) { return std::find(ids.begin(), ids.end(), true) != ids.end(); }

}  // namespace

SearchedRun::SearchedRun(const store::RunData& run, const report::Model& model)
    : run_(run),
      words_(run, model),
      sites_(texts_of(words_, run.sites)),
      uses_(texts_of(words_, run.operator_uses)),
      regions_(texts_of(words_, run.regions)),
      kernels_(texts_of(words_, run.kernels)),
      facts_(texts_of(words_, run.facts)) {}

absl::StatusOr<SelectionPtr> SearchedRun::find(const std::string& text) const {
  {
    const std::lock_guard lock(mutex_);
    const auto known = std::find_if(newest_.begin(), newest_.end(), [&](const auto& one) { return one.first == text; });
    if (known != newest_.end()) {
      newest_.splice(newest_.begin(), newest_, known);
      return known->second;
    }
  }
  const auto query = parse_search(text);
  if (!query.ok()) return query.status();
  auto selection = std::make_shared<const Selection>(select(*query));
  const std::lock_guard lock(mutex_);
  newest_.emplace_front(text, selection);
  if (newest_.size() > kKept) newest_.pop_back();
  return selection;
}

Selection SearchedRun::select(const SearchQuery& query) const {
  const std::map<TrackKind, std::vector<Ids>> by_track = {
      {TrackKind::kCasts, holding(query, words_, run_.sites, sites_)},
      {TrackKind::kOperators, holding(query, words_, run_.operator_uses, uses_)},
      {TrackKind::kRegions, holding(query, words_, run_.regions, regions_)},
      {TrackKind::kKernels, holding(query, words_, run_.kernels, kernels_)},
      {TrackKind::kMarks, holding(query, words_, run_.facts, facts_)},
      // What is known of a step, or of the time that a module took, is its kind.
      {TrackKind::kSteps, holding(query, words_, store::Table<store::Fact>(), {})},
      {TrackKind::kModules, holding(query, words_, store::Table<store::Fact>(), {})}};
  Selection found;
  const std::map<TrackKind, Ids*> together = {{TrackKind::kCasts, &found.sites},
                                              {TrackKind::kOperators, &found.uses},
                                              {TrackKind::kRegions, &found.regions},
                                              {TrackKind::kKernels, &found.kernels}};
  // Most kinds of one track find the same, which is worked out once.
  std::map<std::pair<TrackKind, std::vector<bool>>, Ids> known;
  for (int i = 0; i <= static_cast<int>(timeline::kLastShadeKind); ++i) {
    const auto kind = static_cast<ShadeKind>(i);
    const TrackKind track = timeline::track_of(kind);
    const std::vector<bool> for_kind = holds_for_kind(query, kind);
    const auto [at, is_new] = known.try_emplace({track, for_kind});
    if (is_new) at->second = all_hold(query, by_track.at(track), for_kind);
    const Ids& ids = at->second;
    if (track == TrackKind::kSteps || track == TrackKind::kModules) {
      if (ids.empty() || ids[0]) found.of_kind[kind] = std::nullopt;
      continue;
    }
    found.of_kind[kind] = any(ids) ? ids : Ids();
    const auto of_track = together.find(track);
    if (of_track == together.end()) continue;
    Ids& all = *of_track->second;
    all.resize(ids.size());
    for (std::size_t id = 1; id < ids.size(); ++id) all[id] = all[id] || ids[id];
  }
  return found;
}

const SearchedRun& searched(const Snapshot& snapshot) {
  return snapshot.searched([&] { return std::make_shared<const SearchedRun>(snapshot.data(), snapshot.model()); });
}

}  // namespace castscope::web
