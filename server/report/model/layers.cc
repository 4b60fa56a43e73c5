#include "server/report/model/layers.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "server/report/text/words.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/different_modules.h"
#include "server/rules/evidence/places/regions.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

using rules::NotCast;

std::vector<LayerArgument> arguments_of(const rules::CastReasons& reasons, const store::OperatorUse& use) {
  std::vector<LayerArgument> all;
  for (std::size_t i = 0; i < use.operands.size(); ++i) {
    const lanes::Operand& operand = use.operands[i];
    const bool named = i < use.argument_names.size() && !use.argument_names[i].empty();
    all.push_back({.name = named ? use.argument_names[i] : std::to_string(operand.argument),
                   .role = operand.role,
                   .given = operand.dtype,
                   .entered = operand.entered == rules::kNoDtype ? operand.dtype : operand.entered,
                   .why = reasons.of(use, i)});
  }
  return all;
}

using Place = std::tuple<std::string, std::int64_t, std::string>;
Place place_of(const Layer& layer) {
  return layer.at ? Place{layer.at->file, layer.at->line, layer.at->function} : Place{};
}

auto look_of(const Layer& layer) {
  const store::OperatorUse& use = *layer.first;
  return std::make_tuple(place_of(layer), use.op, use.node, use.phase, use.device, use.computed, use.result,
                         layer.arguments);
}

std::string text(std::uint8_t dtype) { return std::string(store::dtype_name(dtype)); }

bool is_number(const LayerArgument& argument) { return argument.why == NotCast::kNumber; }

// Describes each argument ("input bfloat16, weight float32"), or all at once where they are the same.
template <typename WhatOf>
std::string of_arguments(const Layer& layer, const char* after_name, const char* between, WhatOf what_of) {
  std::vector<std::pair<std::string, std::string>> told;
  std::set<std::string> kinds;
  for (const LayerArgument& argument : layer.arguments) {
    if (is_number(argument)) continue;
    const std::string what = what_of(argument);
    kinds.insert(what);
    if (!what.empty() && std::ranges::find(told, std::pair(argument.name, what)) == told.end())
      told.emplace_back(argument.name, what);
  }
  if (told.empty()) return "";
  if (kinds.size() == 1) return told.front().second;
  std::string list;
  for (const auto& [name, what] : told) list += (list.empty() ? "" : between) + name + after_name + what;
  return list;
}

}  // namespace

Layers layers_of(const store::RunData& data) {
  Layers layers;
  for (const store::Process& process : data.processes)
    layers.deep_steps = std::max(layers.deep_steps, process.gauges.deep_steps);
  const auto times = rules::times_of_uses(data);
  const rules::CastReasons reasons(data);
  using Key = std::tuple<std::string, std::string, store::RegionId, decltype(look_of(Layer()))>;
  std::map<Key, std::size_t> known;
  for (const store::OperatorUse& use : data.operator_uses) {
    const std::uint64_t calls = times[use.id];
    if (calls == 0 || rules::raised(use)) continue;
    Layer layer{.first = &use,
                .at = data.user_location(use.stack),
                .arguments = arguments_of(reasons, use),
                .calls = calls,
                .elsewhere = {}};
    const store::Module module = use.module == 0 ? store::Module() : data.modules[use.module];
    const auto [at, fresh] =
        known.try_emplace(Key{module.model(), module.path, use.region, look_of(layer)}, layers.all.size());
    if (!fresh) {
      layers.all[at->second].calls += calls;
      continue;
    }
    if (use.phase == lanes::Phase::kForward) layer.elsewhere = rules::computes_elsewhere(data, use);
    layers.all.push_back(std::move(layer));
  }
  return layers;
}

std::vector<Layer> in_groups(const store::RunData& data, const std::vector<Layer>& all) {
  std::vector<Layer> groups;
  std::map<decltype(look_of(Layer())), std::pair<std::size_t, std::set<store::ModuleId>>> known;
  for (const Layer& layer : all) {
    const auto [at, fresh] = known.try_emplace(look_of(layer), groups.size(), std::set<store::ModuleId>());
    auto& [group, modules] = at->second;
    modules.insert(layer.first->module);
    if (fresh)
      groups.push_back(layer);
    else
      groups[group].calls += layer.calls;
  }
  for (auto& [look, group] : known)
    if (group.second.size() > 1) groups[group.first].modules = rules::different_modules(data, group.second);
  std::stable_sort(groups.begin(), groups.end(), [](const Layer& a, const Layer& b) {
    return (a.first->phase == lanes::Phase::kForward) > (b.first->phase == lanes::Phase::kForward);
  });
  return groups;
}

std::string given_text(const Layer& layer) {
  return of_arguments(layer, " ", ", ", [](const LayerArgument& argument) { return text(argument.given); });
}

std::string why_text(const Layer& layer) {
  return of_arguments(layer, ": ", "; ",
                      [](const LayerArgument& argument) { return rules::words(argument.why, argument.given); });
}

std::string elsewhere_text(const Layer& layer) {
  std::map<std::uint8_t, std::vector<std::string>> devices;
  for (const rules::DeviceDtype& one : layer.elsewhere) devices[one.dtype].emplace_back(one.device);
  std::string list;
  for (const auto& [dtype, names] : devices) list += (list.empty() ? "" : "; ") + text(dtype) + " on " + listed(names);
  return list;
}

namespace {

// Whether a model computes this inside a region of its device, including a region with autocast off.
bool computes_in_region(const store::RunData& data, const store::OperatorUse& use) {
  return rules::is_forward(use) && rules::region_of_device(data, use) != nullptr && !use.operands.empty() &&
         !use.is(lanes::kUseConverts) && !rules::is_upkeep(use);
}

}  // namespace

std::string computed_line(const store::RunData& data, const Layers& layers) {
  constexpr std::size_t kNamed = 6;
  std::map<std::uint8_t, std::map<std::string, std::uint64_t>> calls;
  for (const Layer& layer : layers.all) {
    const store::OperatorUse& use = *layer.first;
    if (!computes_in_region(data, use)) continue;
    if (rules::is_floating(use.computed)) calls[use.computed][rules::short_name(use.op)] += layer.calls;
  }
  std::string line;
  for (const std::uint8_t dtype : {rules::kBrain, rules::kHalf, rules::kFloat, rules::kDouble}) {
    std::vector<std::pair<std::string, std::uint64_t>> names(calls[dtype].begin(), calls[dtype].end());
    std::ranges::stable_sort(names, std::greater<>(), &std::pair<std::string, std::uint64_t>::second);
    std::string list;
    for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) list += (i == 0 ? "" : ", ") + names[i].first;
    if (names.size() > kNamed) list += " and " + std::to_string(names.size() - kNamed) + " more";
    if (!list.empty()) line += (line.empty() ? "in " : "; in ") + text(dtype) + ": " + list;
  }
  return line;
}

std::string looked_at_text(const Layers& layers, const rules::LookedAt& looked) {
  if (looked.steps > 1)
    return grouped(std::min(looked.deep_steps, looked.steps)) + " of " + counted(looked.steps, "step", "steps");
  std::uint64_t calls = 0;
  for (const Layer& layer : layers.all) calls += layer.calls;
  return counted(calls, "call of an operator", "calls of operators");
}

std::string what_was_looked_at(const Layers& layers, const rules::LookedAt& looked) {
  const std::string what = "the " + looked_at_text(layers, looked);
  return what + (looked.steps > 1 ? " in which every operator was looked at" : " that were looked at");
}

std::string module_text(const store::RunData& data, const Layer& layer) {
  if (layer.first->module == 0) return "";
  const store::Module& module = data.modules[layer.first->module];
  const std::string name = module.path.empty() ? module.model() : module.path;
  return layer.modules > 1 ? name + " and " + grouped(layer.modules - 1) + " more" : name;
}

std::string dtype_or_blank(std::uint8_t number) {
  return number == rules::kNoDtype ? "" : std::string(store::dtype_name(number));
}

}  // namespace castscope::report
