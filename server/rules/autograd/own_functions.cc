#include "server/rules/autograd/own_functions.h"

#include <algorithm>
#include <set>
#include <utility>

namespace castscope::rules {
namespace {

using lanes::Phase;
using store::OperatorUse;
using store::RunData;
using Kind = FunctionMethod::Kind;
using Key = std::pair<std::string, std::string>;  // file, qualified name

class Collector {
 public:
  explicit Collector(const RunData& data) : data_(data), times_(data.operator_uses.size() + 1) {
    for (const store::UseCount& count : data.use_counts) times_[count.use] += count.times;
    for (const store::Flow& flow : data.flows)
      if (data.operator_use(flow.from).is(lanes::kUseConverts) &&
          data.operator_use(flow.from).phase == Phase::kBackward)
        converted_.insert({flow.to, flow.argument});
    for (const OperatorUse& use : data.operator_uses) {
      if (is_cast_down(data, use)) low_.insert(operator_name(use.op));
      if (use.phase != Phase::kBackward) forward_spots_.insert(spot_of(data, use));
    }
  }

  std::vector<OwnFunction> collect() {
    for (const OperatorUse& use : data_.operator_uses) take_backward(use);
    for (const OperatorUse& use : data_.operator_uses) take_forward(use);
    std::vector<OwnFunction> all;
    for (auto& [key, function] : functions_)
      if (function.forward_stack != 0) all.push_back(std::move(function));
    return all;
  }

 private:
  // On this device, or in this run: what autocast casts down.
  bool is_low_by_policy(const OperatorUse& use) const {
    return is_product(use.op) || (use.is(lanes::kUseEligible) && low_.contains(operator_name(use.op)));
  }
  bool is_recomputed(const OperatorUse& use) const {
    return use.is(lanes::kUseGradMode) && forward_spots_.contains(spot_of(data_, use));
  }
  bool is_meant_in_float(const OperatorUse& use) const {
    return use.computed == kFloat && std::all_of(use.operands.begin(), use.operands.end(), [&](const auto& operand) {
             return !has_dimensions(operand) || converted_.contains({use.id, operand.argument});
           });
  }

  void take_backward(const OperatorUse& use) {
    if (use.phase != Phase::kBackward || use.node.empty()) return;
    const FunctionMethod method = function_method(data_, use.stack);
    if (method.kind != Kind::kBackward || method.owner.empty()) return;
    // Of another backward pass inside this one: nodes of PyTorch's own have a number at their end.
    if (!use.node.ends_with("Backward")) return;
    const Key key{method.file, method.owner};
    OwnFunction& function = functions_[key];
    function.name = last_name(method.owner);
    by_node_[use.node] = key;
    if (is_low_by_policy(use) && !is_recomputed(use) && !is_meant_in_float(use))
      function.backward.push_back({&use, times_[use.id]});
  }

  // Its forward stands beside its backward, or in a class that is named like the node.
  OwnFunction* function_of(const FunctionMethod& method) {
    const auto found = functions_.find({method.file, method.owner});
    if (found != functions_.end()) return &found->second;
    const auto named = by_node_.find(std::string(last_name(method.owner)) + "Backward");
    return named == by_node_.end() ? nullptr : &functions_.at(named->second);
  }

  void take_forward(const OperatorUse& use) {
    if (use.phase == Phase::kBackward) return;
    const FunctionMethod method = function_method(data_, use.stack);
    if (method.kind != Kind::kForward || method.owner.empty()) return;
    OwnFunction* function = function_of(method);
    if (function == nullptr) return;
    const bool low = is_cast_down(data_, use);
    if (function->forward_stack == 0 || (low && function->forward_low.empty())) function->forward_stack = use.stack;
    if (low) function->forward_low.insert(use.computed);
    if (use.computed == kFloat && is_low_by_policy(use) && !in_autocast(data_, use))
      function->forward_float += times_[use.id];
  }

  const RunData& data_;
  std::vector<std::uint64_t> times_;                            // by use
  std::set<std::pair<std::uint32_t, std::uint8_t>> converted_;  // (use, argument): converted in backward
  std::set<std::string> low_;                                   // operators that autocast was seen to cast down
  std::set<Spot> forward_spots_;
  std::map<Key, OwnFunction> functions_;
  std::map<std::string, Key> by_node_;  // by the name that its backward node has
};

}  // namespace

std::vector<OwnFunction> own_functions(const RunData& data) { return Collector(data).collect(); }

}  // namespace castscope::rules
