#include "server/rules/evidence/own_functions.h"

#include <algorithm>
#include <map>
#include <utility>

#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/code_places.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"

namespace castscope::rules {
namespace {

using lanes::Phase;
using store::OperatorUse;
using store::RunData;
using Kind = FunctionMethod::Kind;
using Key = std::pair<std::string, std::string>;  // file, qualified name

std::string_view scope_of(std::string_view qualified) {
  return qualified.substr(0, qualified.size() - last_name(qualified).size());
}

class Collector {
 public:
  Collector(const RunData& data, const ProcessUses& uses) : data_(data), uses_(uses) {
    for (const store::Flow& flow : data.flows) {
      const OperatorUse& from = data.operator_uses[flow.from];
      if (from.is(lanes::kUseConverts) && from.phase == Phase::kBackward) ++converted_[{flow.to, flow.argument}];
    }
    for (const CountedUse& counted : uses) {
      if (is_cast_down(data, *counted.use)) low_.insert(short_name(counted.use->op));
      if (counted.use->phase != Phase::kBackward) forward_spots_.insert(spot_of(data, *counted.use));
    }
  }

  std::vector<OwnFunction> collect() {
    for (const CountedUse& counted : uses_) take_backward(counted);
    for (const CountedUse& counted : uses_) take_forward(counted);
    std::vector<OwnFunction> all;
    for (auto& [key, function] : functions_)
      if (function.forward_stack != 0) all.push_back(std::move(function));
    return all;
  }

 private:
  // Autocast casts the operator down, on this device or in this process.
  bool is_low_by_policy(const OperatorUse& use) const {
    return is_product(use.op) || (use.is(lanes::kUseEligible) && low_.contains(short_name(use.op)));
  }
  bool is_recomputed(const OperatorUse& use) const {
    return use.is(lanes::kUseGradMode) && forward_spots_.contains(spot_of(data_, use));
  }
  bool is_meant_in_float(const OperatorUse& use) const {
    return use.computed == kFloat && std::all_of(use.operands.begin(), use.operands.end(), [&](const auto& operand) {
             return !has_dimensions(operand) || all_converted(use, operand.argument);
           });
  }
  // Tensors of a list are one argument.
  bool all_converted(const OperatorUse& use, std::uint8_t argument) const {
    const auto converted = converted_.find({use.id, argument});
    return converted != converted_.end() &&
           std::count_if(use.operands.begin(), use.operands.end(), [&](const auto& operand) {
             return operand.argument == argument && has_dimensions(operand);
           }) <= converted->second;
  }

  void take_backward(const CountedUse& counted) {
    const OperatorUse& use = *counted.use;
    // Nodes of PyTorch's own, which belong to another backward pass inside this one, have a number at their end.
    if (use.phase != Phase::kBackward || !use.node.ends_with("Backward")) return;
    const FunctionMethod method = function_method(data_, use.stack);
    if (method.kind != Kind::kBackward || method.owner.empty()) return;
    const Key key{method.file, method.owner};
    OwnFunction& function = functions_[key];
    function.name = use.node.substr(0, use.node.size() - std::string_view("Backward").size());
    by_node_[use.node].insert(key);
    if (is_low_by_policy(use) && !is_recomputed(use) && !is_meant_in_float(use)) function.backward.push_back(counted);
  }

  // The forward of a Function stands beside its backward. Where one of them is inherited, it stands in a class that is
  // named like the node: the class of the same scope, or the only one.
  OwnFunction* function_of(const FunctionMethod& method) {
    const auto found = functions_.find({method.file, method.owner});
    if (found != functions_.end()) return &found->second;
    const auto named = by_node_.find(std::string(last_name(method.owner)) + "Backward");
    if (named == by_node_.end()) return nullptr;
    for (const Key& key : named->second)
      if (key.first == method.file && scope_of(key.second) == scope_of(method.owner)) return &functions_.at(key);
    return named->second.size() == 1 ? &functions_.at(*named->second.begin()) : nullptr;
  }

  void take_forward(const CountedUse& counted) {
    const OperatorUse& use = *counted.use;
    if (use.phase == Phase::kBackward) return;
    const FunctionMethod method = function_method(data_, use.stack, own_names_);
    if (method.kind != Kind::kForward || method.owner.empty()) return;
    OwnFunction* function = function_of(method);
    if (function == nullptr) return;
    const bool low = is_cast_down(data_, use);
    if (function->forward_stack == 0 || (low && function->forward_low.empty())) function->forward_stack = use.stack;
    if (low) function->forward_low.insert(use.computed);
    if (use.computed == kFloat && is_low_by_policy(use) && !in_autocast(data_, use))
      function->forward_float = std::max(function->forward_float, counted.times);
  }

  const RunData& data_;
  const ProcessUses& uses_;
  const OwnFunctionNames own_names_ = own_function_names(data_);
  std::map<std::pair<store::OperatorUseId, std::uint8_t>, int>
      converted_;              // (use, argument): tensors converted in backward
  std::set<std::string> low_;  // operators that autocast was seen to cast down
  std::set<Spot> forward_spots_;
  std::map<Key, OwnFunction> functions_;
  std::map<std::string, std::set<Key>> by_node_;  // by the name of its backward node
};

}  // namespace

std::vector<OwnFunction> own_functions(const RunData& data, const ProcessUses& uses) {
  return Collector(data, uses).collect();
}

void add_use(WrongBackward& found, const CountedUse& counted) {
  if (found.first == nullptr) found.first = counted.use;
  found.fewest = found.times == 0 ? counted.times : std::min(found.fewest, counted.times);
  found.times += counted.times;
  found.operators.insert(short_name(counted.use->op));
}

std::vector<WrongBackward> one_for_each_place(const RunData& data, std::vector<WrongBackward> all) {
  std::map<Line, WrongBackward> by_place;
  for (WrongBackward& one : all) {
    const auto [at, fresh] = by_place.try_emplace(line_of(data, one.first->stack), std::move(one));
    if (fresh) continue;
    at->second.times += one.times;
    at->second.operators.merge(one.operators);
  }
  all.clear();
  for (auto& [place, one] : by_place) all.push_back(std::move(one));
  return all;
}

}  // namespace castscope::rules
