#include "server/exported/run_dtypes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "server/exported/operator_facts.h"

namespace castscope::exported {
namespace {

using policy::CastPolicy;

struct Tensor {  // an operator's argument
  RunDtype runs;
  Dtype recorded = Dtype::kUnknown;
  std::size_t dimensions = 0;
  Origin origin = Origin::kComputed;
};

struct Environment {  // of one graph
  std::map<std::string, RunDtype> runs;
  std::map<std::string, Origin> origins;
};

using OpenRegions = std::map<std::string, std::size_t>;  // device → index of its innermost region

template <typename Member>
bool all_are(const std::vector<Tensor>& tensors, Member member, Dtype dtype) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) { return member(tensor) == dtype; });
}

Dtype recorded_of(const Tensor& tensor) { return tensor.recorded; }
Dtype run_of(const Tensor& tensor) { return tensor.runs.dtype; }

// Tensors without dimensions count only where there are no others.
template <typename Member>
Dtype promotion(const std::vector<Tensor>& tensors, Member member) {
  const bool scalars_alone =
      std::none_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) { return tensor.dimensions > 0; });
  std::optional<Dtype> all;
  for (const Tensor& tensor : tensors) {
    if (tensor.dimensions > 0 || scalars_alone) all = all ? promoted(*all, member(tensor)) : member(tensor);
  }
  return all.value_or(Dtype::kUnknown);
}

Why why_of(const std::vector<Tensor>& tensors) {
  const auto at =
      std::find_if(tensors.begin(), tensors.end(), [](const Tensor& tensor) { return tensor.runs.why != Why::kNone; });
  return at == tensors.end() ? Why::kNone : at->runs.why;
}

bool all_certain(const std::vector<Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) { return tensor.runs.certain; });
}

// Finds the dtype of an operator outside of a region whose arguments do not all have the recorded dtypes.
RunDtype follows(const Node& node, Dtype recorded, const std::vector<Tensor>& inputs) {
  const auto sure = [&](Dtype dtype) {
    return RunDtype{dtype, is_pytorchs(node) && all_certain(inputs), dtype == recorded ? Why::kNone : why_of(inputs)};
  };
  if (!is_floating(recorded) || inputs.empty()) return sure(recorded);
  if (is_in_place(node)) return sure(inputs.front().runs.dtype);
  const Dtype one = inputs.front().runs.dtype;
  const bool is_theirs =
      std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& input) { return input.recorded == recorded; });
  if (is_theirs && all_are(inputs, run_of, one)) return sure(one);
  if (follows_first(node)) {
    RunDtype first = sure(one);
    first.certain = first.certain && is_half(one);  // weights of float32 are fine with halves, not the other way round
    return first;
  }
  if (promotion(inputs, recorded_of) == recorded) return sure(promotion(inputs, run_of));
  if (inputs.front().recorded == recorded) return sure(one);
  return {recorded, false, Why::kNone};
}

// Returns the dtype that autocast has the operator compute in; nothing where autocast leaves it alone.
std::optional<Dtype> under_autocast(CastPolicy policy, const Node& node, Dtype lower,
                                    const std::vector<Tensor>& inputs) {
  const bool has_eligible =
      std::any_of(inputs.begin(), inputs.end(), [](const Tensor& input) { return is_eligible(input.runs.dtype); });
  if (!has_eligible) return std::nullopt;
  switch (policy) {
    case CastPolicy::kLowerPrecision:
      return lower;
    case CastPolicy::kFp32SetOptDtype:
      if (dtype_argument(node) || !is_eligible(inputs.front().runs.dtype)) return std::nullopt;
      return Dtype::kFloat32;
    case CastPolicy::kFp32:
    case CastPolicy::kFp32AppendDtype:
      return Dtype::kFloat32;
    case CastPolicy::kPromote:
      return promotion(inputs, run_of);
    default:
      return std::nullopt;
  }
}

// Returns whether this was recorded under autocast: the dtypes that went in and came out fit together in no other way.
bool shows_autocast(CastPolicy policy, const Node& node, Dtype recorded, const std::vector<Tensor>& inputs) {
  if (inputs.empty() || dtype_argument(node) || kind_of(node) != OperatorKind::kComputes) return false;
  const auto none_is = [&](Dtype dtype) {
    return std::none_of(inputs.begin(), inputs.end(), [&](const Tensor& input) { return input.recorded == dtype; });
  };
  const bool all_eligible =
      std::all_of(inputs.begin(), inputs.end(), [](const Tensor& input) { return is_eligible(input.recorded); });
  if (is_half(recorded) && all_eligible && node.op.starts_with("aten::") && !is_in_place(node)) {
    // PyTorch's own operators give a half that none of their inputs had only when they are asked for it.
    if (none_is(recorded)) return true;
    if (wants_one_dtype(node)) return !all_are(inputs, recorded_of, recorded);
  }
  const bool to_float32 =
      policy == CastPolicy::kFp32 || policy == CastPolicy::kFp32SetOptDtype || policy == CastPolicy::kFp32AppendDtype;
  return to_float32 && recorded == Dtype::kFloat32 &&
         std::all_of(inputs.begin(), inputs.end(), [](const Tensor& input) { return is_half(input.recorded); });
}

class Walker {
 public:
  void walk_graph(const Graph& graph, Environment& environment, const OpenRegions& open) {
    for (const Node& node : graph.nodes) {
      const bool has_graph = std::any_of(node.arguments.begin(), node.arguments.end(),
                                         [](const Argument& argument) { return argument.graph != nullptr; });
      if (has_graph)
        walk_inner_graph(graph, node, environment, open);
      else
        walk_node(graph, node, environment, open);
    }
  }

  Walk walk;

 private:
  static Tensor tensor(const Graph& graph, const Environment& environment, const std::string& name) {
    Tensor tensor;
    if (const Value* const value = graph.value(name)) {
      tensor.recorded = value->dtype;
      tensor.dimensions = value->dimensions;
      tensor.origin = value->origin;
      tensor.runs = {value->dtype, true, Why::kNone};
    }
    if (const auto at = environment.runs.find(name); at != environment.runs.end()) tensor.runs = at->second;
    if (const auto at = environment.origins.find(name); at != environment.origins.end()) tensor.origin = at->second;
    return tensor;
  }

  static std::vector<Tensor> floating_inputs(const Graph& graph, const Environment& environment, const Node& node) {
    std::vector<Tensor> inputs;
    for (const Argument& argument : node.arguments) {
      for (const std::string& name : argument.tensors) {
        const Tensor one = tensor(graph, environment, name);
        if (is_floating(one.recorded)) inputs.push_back(one);
      }
    }
    return inputs;
  }

  static std::string device_of(const Graph& graph, const Node& node) {
    for (const std::string& name : node.outputs) {
      if (const Value* const value = graph.value(name)) return value->device;
    }
    return "";
  }

  // Returns the region that decides over operators on this device; null where the program has none, or has autocast
  // off.
  const Region* casting(const OpenRegions& open, const std::string& device) const {
    const auto at = open.find(device);
    return at == open.end() || !walk.regions[at->second].enabled ? nullptr : &walk.regions[at->second];
  }

  void walk_node(const Graph& graph, const Node& node, Environment& environment, const OpenRegions& open) {
    const OperatorKind kind = kind_of(node);
    const std::vector<Tensor> inputs = floating_inputs(graph, environment, node);
    if (kind == OperatorKind::kChecks) return check_dtype(node, inputs);
    const Value* const first = node.outputs.empty() ? nullptr : graph.value(node.outputs.front());
    if (first == nullptr || kind == OperatorKind::kOther) return;
    const std::string device = device_of(graph, node);
    const Region* const region = casting(open, device);
    const CastPolicy policy = autocast_policy(node, device);
    Step step;
    step.node = &node;
    step.recorded = first->dtype;
    if (const auto at = open.find(device); at != open.end()) step.region = at->second;
    step.lost = region == nullptr && shows_autocast(policy, node, first->dtype, inputs);
    step.runs = given(node, *first, inputs, region, policy, step);
    keep_outputs(graph, node, step, inputs, environment);
    if (region == nullptr) record_mixed_dtypes(node, inputs, step.lost);
    record_step(kind, inputs, std::move(step));
  }

  static RunDtype given(const Node& node, const Value& first, const std::vector<Tensor>& inputs, const Region* region,
                        CastPolicy policy, Step& step) {
    const bool unchanged =
        std::all_of(inputs.begin(), inputs.end(), [](const Tensor& in) { return in.runs.dtype == in.recorded; });
    if (region != nullptr && region->dtype) {
      if (const auto dtype = under_autocast(policy, node, *region->dtype, inputs)) {
        step.computed = *dtype;
        const Dtype gives = is_floating(first.dtype) ? *dtype : first.dtype;
        return {gives, all_certain(inputs), gives == first.dtype ? Why::kNone : Why::kRegionKept};
      }
    }
    if (dtype_argument(node)) return {first.dtype, true, Why::kNone};
    if (step.lost) {
      const Dtype one = inputs.front().runs.dtype;
      if (!all_are(inputs, run_of, one)) return {first.dtype, false, Why::kNone};
      return {one, all_certain(inputs), one == first.dtype ? Why::kNone : Why::kRegionLost};
    }
    if (unchanged) {
      const bool sure = all_certain(inputs) && (region == nullptr || !holds_others(node));
      return {first.dtype, sure, Why::kNone};
    }
    if (node.op == "aten::type_as" || (node.op == "aten::to" && node.overload == "other"))
      return {inputs.back().runs.dtype, inputs.back().runs.certain, why_of({inputs.back()})};
    return follows(node, first.dtype, inputs);
  }

  // Further outputs whose recorded dtype is that of the first output change with it.
  static void keep_outputs(const Graph& graph, const Node& node, const Step& step, const std::vector<Tensor>& inputs,
                           Environment& environment) {
    const Origin origin =
        kind_of(node) == OperatorKind::kMoves && inputs.size() == 1 ? inputs.front().origin : Origin::kComputed;
    for (const std::string& name : node.outputs) {
      const Value* const value = graph.value(name);
      if (value == nullptr) continue;
      environment.runs[name] =
          value->dtype == step.recorded ? step.runs : RunDtype{value->dtype, step.runs.certain, Why::kNone};
      environment.origins[name] = origin;
    }
  }

  void check_dtype(const Node& node, const std::vector<Tensor>& inputs) {
    const std::optional<Dtype> wanted = dtype_argument(node);
    if (!wanted || inputs.size() != 1) return;
    const RunDtype& given = inputs.front().runs;
    if (given.certain && given.dtype != *wanted)
      walk.stops.push_back(
          {.node = &node, .is_check = true, .wanted = *wanted, .given = given.dtype, .why = given.why});
  }

  void record_mixed_dtypes(const Node& node, const std::vector<Tensor>& inputs, bool lost) {
    if (!wants_one_dtype(node) || inputs.size() < 2 || !all_certain(inputs)) return;
    const Dtype one = inputs.front().runs.dtype;
    for (const Tensor& input : inputs) {
      if (!is_eligible(input.runs.dtype) || !is_eligible(one) || input.runs.dtype == one) continue;
      const Why why = lost ? Why::kRegionLost : why_of(inputs);
      walk.stops.push_back({.node = &node, .wanted = one, .given = input.runs.dtype, .why = why});
      return;
    }
  }

  void record_step(OperatorKind kind, const std::vector<Tensor>& inputs, Step step) {
    if (kind == OperatorKind::kMoves) return;
    step.casts = kind == OperatorKind::kCasts;
    if (step.casts) {
      if (inputs.empty() || !is_floating(step.runs.dtype) || inputs.front().runs.dtype == step.runs.dtype) return;
      step.from = inputs.front().runs.dtype;
      step.of_weight = inputs.front().origin == Origin::kWeight;
    } else if (step.computed == Dtype::kUnknown) {
      step.computed = is_floating(step.runs.dtype) ? step.runs.dtype : promotion(inputs, run_of);
    }
    if (!step.casts && !is_floating(step.computed)) return;
    if (step.region && !step.casts) count_operator(walk.regions[*step.region], *step.node);
    walk.steps.push_back(std::move(step));
  }

  static void count_operator(Region& region, const Node& node) {
    region.operators++;
    if (!node.place) return;
    if (!region.first) region.first = node.place;
    region.last = node.place;
  }

  // Handles wrap_with_autocast(device, dtype, enabled, cache_enabled, graph, tensors…), wrap_with_set_grad_enabled,
  // cond, map and others.
  void walk_inner_graph(const Graph& graph, const Node& node, Environment& environment, OpenRegions open) {
    if (node.op == "wrap_with_autocast") enter_region(node, open);
    std::vector<std::string> tensors;
    for (const Argument& argument : node.arguments)
      tensors.insert(tensors.end(), argument.tensors.begin(), argument.tensors.end());
    for (const Argument& argument : node.arguments) {
      if (argument.graph == nullptr) continue;
      const Graph& inner = *argument.graph;
      Environment within;
      // For other operators with graphs (loops with a state, for instance) only the recorded dtypes are known.
      const bool fits = inner.inputs.size() == tensors.size();
      for (std::size_t i = 0; i < inner.inputs.size(); ++i) {
        const Tensor given = fits ? tensor(graph, environment, tensors[i]) : Tensor();
        const Value* const value = inner.value(inner.inputs[i]);
        within.runs[inner.inputs[i]] =
            fits ? given.runs : RunDtype{value == nullptr ? Dtype::kUnknown : value->dtype, false, Why::kNone};
        within.origins[inner.inputs[i]] = given.origin;
      }
      walk_graph(inner, within, open);
      for (std::size_t i = 0; i < std::min(inner.outputs.size(), node.outputs.size()); ++i) {
        RunDtype gives = tensor(inner, within, inner.outputs[i]).runs;
        if (inner.outputs.size() != node.outputs.size()) gives.certain = false;
        environment.runs[node.outputs[i]] = gives;
      }
    }
  }

  void enter_region(const Node& node, OpenRegions& open) {
    Region region;
    if (!node.arguments.empty()) region.device = node.arguments[0].text.value_or("");
    if (node.arguments.size() > 1) region.dtype = node.arguments[1].dtype;
    if (node.arguments.size() > 2) region.enabled = node.arguments[2].flag.value_or(true);
    if (const auto outer = open.find(region.device); outer != open.end()) region.within = outer->second;
    if (!region.dtype) region.dtype = region.within ? walk.regions[*region.within].dtype : default_dtype(region.device);
    open[region.device] = walk.regions.size();
    walk.regions.push_back(std::move(region));
  }
};

}  // namespace

Walk walk(const Program& program) {
  Walker walker;
  Environment environment;
  walker.walk_graph(program.graph, environment, {});
  return std::move(walker.walk);
}

}  // namespace castscope::exported
