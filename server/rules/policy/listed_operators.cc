#include "server/rules/policy/listed_operators.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/places/places.h"

namespace castscope::rules {
namespace {

constexpr std::size_t kMostPlaces = 20;  // in a finding; the run file has all the operators

std::vector<std::pair<std::string, std::uint64_t>> by_frequency(const ListedOperators& listed) {
  std::vector<std::pair<std::string, std::uint64_t>> names(listed.names.begin(), listed.names.end());
  std::stable_sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return names;
}

}  // namespace

void add_use(ListedOperators& listed, const store::OperatorUse& use, const store::UseCount& count) {
  if (listed.first == nullptr || use.id < listed.first->id) listed.first = &use;
  listed.times += count.times;
  listed.ns += count.ns;
  listed.names[short_name(use.op)] += count.times;
  listed.uses.push_back(&use);
}

std::vector<ListedOperators> merged_by_place(const store::RunData& data, const std::vector<ListedOperators>& all) {
  std::map<Line, ListedOperators> merged;
  for (const ListedOperators& one : all) {
    ListedOperators& into = merged[line_of(data, one.first->stack)];
    if (into.first == nullptr || one.first->id < into.first->id) into.first = one.first;
    into.times += one.times;
    into.ns += one.ns;
    for (const auto& [name, times] : one.names) into.names[name] += times;
    into.uses.insert(into.uses.end(), one.uses.begin(), one.uses.end());
  }
  std::vector<ListedOperators> list;
  for (auto& [place, listed] : merged) list.push_back(std::move(listed));
  return list;
}

std::string list_text(const ListedOperators& listed) {
  std::string text;
  for (const auto& [name, times] : by_frequency(listed))
    text += (text.empty() ? "" : ", ") + name + (times == 1 ? " (once)" : " (" + std::to_string(times) + " times)");
  return text;
}

std::string short_list(const ListedOperators& listed) {
  const auto names = by_frequency(listed);
  std::string text = names[0].first;
  for (std::size_t i = 1; i < std::min<std::size_t>(names.size(), 3); ++i)
    text += (i + 1 == names.size() ? " and " : ", ") + names[i].first;
  return names.size() > 3 ? text + " and " + std::to_string(names.size() - 3) + " more" : text;
}

std::vector<store::CodeLocation> other_places(const store::RunData& data, const ListedOperators& listed) {
  std::set<Line> seen{line_of(data, listed.first->stack)};
  std::vector<store::CodeLocation> places;
  for (const store::OperatorUse* use : listed.uses) {
    if (places.size() == kMostPlaces) break;
    if (!seen.insert(line_of(data, use->stack)).second) continue;
    if (const auto at = data.user_location(use->stack)) places.push_back(*at);
  }
  return places;
}

}  // namespace castscope::rules
