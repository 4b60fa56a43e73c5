#include "server/report/compare/computed_in.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace castscope::report {
namespace {

using Key = std::tuple<std::string, std::string, std::string, std::string>;
using ComputedIn = std::map<std::string, AccountPrecision>;  // by dtype

// A product with weights. The same model may stand in another file; without a model, file and function have to be the
// same.
Key key_of_product(const AccountPrecision& one) {
  return one.model.empty() ? Key(one.file, "", one.function, one.op) : Key(one.model, one.module, "", one.op);
}

Key key_of_operator(const AccountPrecision& one) {
  return one.model.empty() ? Key(one.file, "", one.function, one.op) : Key(one.model, one.module, one.function, one.op);
}

// If anything ran with grad mode in this run, only that counts: the comparison is about the code that trains.
std::map<Key, ComputedIn> products_of(const Account& account) {
  std::map<Key, ComputedIn> trained, all;
  for (const AccountPrecision& one : account.precision) {
    if (one.grad_mode) trained[key_of_product(one)].try_emplace(one.computed, one);
    all[key_of_product(one)].try_emplace(one.computed, one);
  }
  for (auto& [key, dtypes] : trained) all[key] = std::move(dtypes);
  return all;
}

// By line: a function may call an operator on several.
using Lines = std::map<std::int64_t, ComputedIn>;
std::map<Key, Lines> lines_of(const Account& account) {
  std::map<Key, Lines> all;
  for (const AccountPrecision& one : account.operators)
    all[key_of_operator(one)][one.line].try_emplace(one.computed, one);
  return all;
}

void compare(const ComputedIn& was, const ComputedIn& is, std::vector<PrecisionChange>& changes) {
  if (std::none_of(was.begin(), was.end(), [&](const auto& one) { return is.contains(one.first); }))
    changes.push_back({was.begin()->second, is.begin()->second});
}

ComputedIn joined(const Lines& lines) {
  ComputedIn all;
  for (const auto& [line, dtypes] : lines) all.insert(dtypes.begin(), dtypes.end());
  return all;
}

// Lines are paired in their order. Where their numbers differ, the function was edited, and all of it is compared.
void compare(const Lines& was, const Lines& is, std::vector<PrecisionChange>& changes) {
  if (was.size() != is.size()) return compare(joined(was), joined(is), changes);
  for (auto before = was.begin(), after = is.begin(); before != was.end(); ++before, ++after)
    compare(before->second, after->second, changes);
}

int explained_by_lists(const PrecisionChange& change) {
  const std::string& from = change.after.half_from.empty() ? change.before.half_from : change.after.half_from;
  return from == "code" ? 0 : from == "arguments" ? 1 : 2;
}

template <typename OfBefore, typename OfAfter>
void compare_all(const OfBefore& before, const OfAfter& after, std::vector<PrecisionChange>& changes) {
  for (const auto& [key, was] : before)
    if (const auto found = after.find(key); found != after.end()) compare(was, found->second, changes);
}

}  // namespace

std::vector<PrecisionChange> precision_changes(const Account& before, const Account& after) {
  std::vector<PrecisionChange> changes;
  compare_all(products_of(before), products_of(after), changes);
  compare_all(lines_of(before), lines_of(after), changes);
  std::ranges::stable_sort(changes, {}, explained_by_lists);
  return changes;
}

std::vector<AccountPrecision> new_in_a_half(const Account& before, const Account& after) {
  const auto there = lines_of(before);
  std::set<Key> functions;
  for (const auto& [key, lines] : there) functions.insert({std::get<0>(key), std::get<1>(key), std::get<2>(key), ""});
  std::vector<AccountPrecision> all;
  for (const AccountPrecision& one : after.operators) {
    Key key = key_of_operator(one);
    if (one.half_from.empty() || there.contains(key)) continue;
    std::get<3>(key).clear();
    if (functions.contains(key)) all.push_back(one);
  }
  return all;
}

}  // namespace castscope::report
