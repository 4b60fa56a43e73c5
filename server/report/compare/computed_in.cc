#include "server/report/compare/computed_in.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "server/rules/evidence/operators/operators.h"

namespace castscope::report {
namespace {

using Key = std::tuple<std::string, std::string, std::string, std::string>;
using ComputedIn = std::map<std::string, AccountPrecision>;  // by dtype
using Lines = std::map<std::int64_t, ComputedIn>;            // a function may call an operator on several

// A product with weights. The same model may stand in another file; without a model, file and function have to be the
// same.
Key key_of_product(const AccountPrecision& one) {
  return one.model.empty() ? Key(one.file, "", one.function, one.op) : Key(one.model, one.module, "", one.op);
}

Key key_of_operator(const AccountPrecision& one) {
  return one.model.empty() ? Key(one.file, "", one.function, one.op) : Key(one.model, one.module, one.function, one.op);
}

// If anything ran with grad mode in this run, only that counts: the comparison is about the code that trains.
std::map<Key, Lines> products_of(const Account& account) {
  std::map<Key, Lines> trained, all;
  for (const AccountPrecision& one : account.precision) {
    if (one.grad_mode) trained[key_of_product(one)][one.line].try_emplace(one.computed, one);
    all[key_of_product(one)][one.line].try_emplace(one.computed, one);
  }
  for (auto& [key, lines] : trained) all[key] = std::move(lines);
  return all;
}

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

// Returns the first dtype of these that the others do not have, a half if there is one; nullptr where there is none.
const AccountPrecision* only_in(const ComputedIn& these, const ComputedIn& others) {
  const AccountPrecision* found = nullptr;
  for (const auto& [dtype, one] : these)
    if (!others.contains(dtype) && (found == nullptr || found->half_from.empty())) found = &one;
  return found;
}

// A line may call an operator twice, in two dtypes: state.copy_(state * 0.999 + weight * 0.001).
void compare_line(const ComputedIn& was, const ComputedIn& is, std::vector<PrecisionChange>& changes) {
  const AccountPrecision *gone = only_in(was, is), *fresh = only_in(is, was);
  if (gone == nullptr && fresh == nullptr) return;
  const bool in_part = std::ranges::any_of(was, [&](const auto& one) { return is.contains(one.first); });
  changes.push_back(
      {gone == nullptr ? was.begin()->second : *gone, fresh == nullptr ? is.begin()->second : *fresh, in_part});
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
    compare_line(before->second, after->second, changes);
}

// Differences, sums and what grows or falls fast lose most.
constexpr std::string_view kLosing[] = {
    "aten::sub",       "aten::rsub",        "aten::sum",          "aten::mean",
    "aten::var",       "aten::std",         "aten::norm",         "aten::cumsum",
    "aten::cumprod",   "aten::prod",        "aten::exp",          "aten::log",
    "aten::pow",       "aten::square",      "aten::rsqrt",        "aten::sqrt",
    "aten::cos",       "aten::sin",         "aten::logsumexp",    "aten::softmax",
    "aten::add_",      "aten::sub_",        "aten::mul_",         "aten::lerp",
    "aten::lerp_",     "aten::addcmul_",    "aten::addcdiv_",     "aten::index_add_",
    "aten::index_add", "aten::scatter_add", "aten::scatter_add_", "aten::linalg_vector_norm"};
// These give back values as they were given.
constexpr std::string_view kExact[] = {"aten::cat",
                                       "aten::stack",
                                       "aten::relu",
                                       "aten::max_pool2d",
                                       "aten::embedding",
                                       "aten::where",
                                       "aten::masked_fill",
                                       "aten::index",
                                       "aten::gather",
                                       "aten::index_select",
                                       "aten::neg",
                                       "aten::abs",
                                       "aten::maximum",
                                       "aten::minimum",
                                       "aten::clamp",
                                       "aten::max",
                                       "aten::min",
                                       "aten::repeat",
                                       "aten::roll",
                                       "aten::flip",
                                       "aten::pad",
                                       "aten::constant_pad_nd",
                                       "aten::upsample_nearest2d",
                                       "aten::tril",
                                       "aten::triu",
                                       "aten::sign",
                                       "aten::relu_"};

int how_telling(const PrecisionChange& change) {
  const std::string& from = change.after.half_from.empty() ? change.before.half_from : change.after.half_from;
  if (from == "code") return 0;
  if (from != "arguments") return 4;
  const std::string_view op = rules::base_name(change.after.op);
  return rules::is_one_of(op, kLosing) ? 1 : rules::is_one_of(op, kExact) ? 3 : 2;
}

std::string last_part(const std::string& function) { return function.substr(function.rfind('.') + 1); }

// A model has another name or stands in another one, or its class was renamed: the file, the operator and the last part
// of the function's name are left.
using Rest = std::map<Key, Lines>;
Rest without(const std::map<Key, Lines>& these, const std::map<Key, Lines>& others) {
  Rest rest;
  for (const auto& [key, lines] : these) {
    if (others.contains(key)) continue;
    for (const auto& [line, dtypes] : lines) {
      const AccountPrecision& one = dtypes.begin()->second;
      rest[Key(one.file, "", last_part(one.function), one.op)][line].insert(dtypes.begin(), dtypes.end());
    }
  }
  return rest;
}

void compare_all(const std::map<Key, Lines>& before, const std::map<Key, Lines>& after,
                 std::vector<PrecisionChange>& changes) {
  for (const auto& [key, was] : before)
    if (const auto found = after.find(key); found != after.end()) compare(was, found->second, changes);
}

void compare_with_rest(const std::map<Key, Lines>& before, const std::map<Key, Lines>& after,
                       std::vector<PrecisionChange>& changes) {
  compare_all(before, after, changes);
  compare_all(without(before, after), without(after, before), changes);
}

}  // namespace

std::vector<PrecisionChange> precision_changes(const Account& before, const Account& after) {
  std::vector<PrecisionChange> changes;
  compare_with_rest(products_of(before), products_of(after), changes);
  compare_with_rest(lines_of(before), lines_of(after), changes);
  std::ranges::stable_sort(changes, {}, how_telling);
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
