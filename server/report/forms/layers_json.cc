#include "server/report/forms/layers_json.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "server/report/model/code_order.h"
#include "server/report/model/json_values.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

Json dtype_or_null(std::uint8_t dtype) { return dtype == rules::kNoDtype ? Json() : Json(store::dtype_name(dtype)); }
Json reason_or_null(rules::NotCast why) { return why == rules::NotCast::kNone ? Json() : Json(rules::name(why)); }

Json place_json(const store::RunData& run, const ModelInput::Place& at) {
  return {{"location", location_json(run, at.at)},
          {"module", at.module == 0 ? Json() : Json(run.modules[at.module].path)},
          {"operator", at.op},
          {"argument", text_or_null(at.argument)}};
}

Json arguments_json(const Layer& layer) {
  Json list = Json::array();
  for (const LayerArgument& argument : layer.arguments)
    list.push_back({{"argument", argument.name},
                    {"role", store::name(argument.role)},
                    {"given_dtype", store::dtype_name(argument.given)},
                    {"passed_dtype", store::dtype_name(argument.entered)},
                    {"why_not_cast", reason_or_null(argument.why)}});
  return list;
}

Json layer_json(const store::RunData& run, const Layer& layer) {
  const store::OperatorUse& use = *layer.first;
  Json elsewhere = Json::object();
  for (const rules::DeviceDtype& one : layer.elsewhere)
    elsewhere[std::string(one.device)] = store::dtype_name(one.dtype);
  return {{"location", location_json(run, layer.at)},
          {"module_indexes", Json::array()},
          {"operator", use.op},
          {"node", text_or_null(use.node)},
          {"phase", store::name(use.phase)},
          {"device", store::device_name(use.device)},
          {"region", use.region == 0 ? Json() : Json(use.region)},
          {"arguments", arguments_json(layer)},
          {"computed_in", dtype_or_null(use.computed)},
          {"result_dtype", dtype_or_null(use.result)},
          {"calls", layer.calls},
          {"elsewhere", elsewhere}};
}

// By code, as sites are (model/code_order.h): the model has them in the order in which they were called first.
std::vector<const Layer*> layers_by_code(const Model& model) {
  using Argument = std::tuple<std::string, std::uint8_t, std::uint8_t>;
  using Key = std::tuple<std::string, std::int64_t, std::string, std::string, std::string, std::string, std::string,
                         lanes::Phase, std::uint8_t, std::size_t, std::vector<Argument>, std::uint8_t, std::uint8_t>;
  const auto places = region_places(model.run);
  std::vector<std::pair<Key, const Layer*>> keyed;
  for (const Layer& layer : model.layers.all) {
    const store::OperatorUse& use = *layer.first;
    const store::Module module = use.module == 0 ? store::Module() : model.run.modules[use.module];
    std::vector<Argument> arguments;
    for (const LayerArgument& one : layer.arguments) arguments.emplace_back(one.name, one.given, one.entered);
    const store::CodeLocation at = layer.at.value_or(store::CodeLocation());
    keyed.push_back(
        {{at.file, at.line, at.function, module.model(), module.path, use.op, use.node, use.phase, use.device,
          use.region == 0 ? 0 : places[use.region], std::move(arguments), use.computed, use.result},
         &layer});
  }
  std::ranges::stable_sort(keyed, {}, [](const auto& one) -> const Key& { return one.first; });
  std::vector<const Layer*> all;
  for (const auto& [key, layer] : keyed) all.push_back(layer);
  return all;
}

}  // namespace

Json roles_json(const Model& model) {
  Json list = Json::array();
  for (const RoleTotal& total : model.roles) {
    Json not_kept = Json::object();
    for (const auto& [why, casts] : total.not_kept) not_kept[std::string(store::name(why))] = casts;
    list.push_back({{"role", store::name(total.role)},
                    {"casts", total.counts.casts},
                    {"cache_hits", total.counts.hits},
                    {"kept", total.counts.kept},
                    {"not_kept", not_kept}});
  }
  return list;
}

Json model_input_json(const Model& model) {
  if (!model.input) return nullptr;
  const ModelInput& input = *model.input;
  Json later;
  if (input.first_cast) {
    later = place_json(model.run, *input.first_cast);
    later["itself"] = input.itself;
    later["to_dtype"] = store::dtype_name(input.first_cast_to);
  }
  Json json = place_json(model.run, input.first);
  json["given_dtype"] = store::dtype_name(input.dtype);
  json["to_dtype"] = dtype_or_null(input.cast_to);
  json["converted_to"] = dtype_or_null(input.converted_to);
  json["why_not_cast"] = reason_or_null(input.why);
  json["first_cast"] = later;
  return json;
}

Json layers_json(const Model& model, SharedParts& parts) {
  Json list = Json::array();
  std::map<std::pair<bool, std::string>, std::size_t> known;  // by whether a module ran it, and the row of one module
  for (const Layer* const layer : layers_by_code(model)) {
    const store::ModuleId module = layer->first->module;
    Json row = layer_json(model.run, *layer);
    std::string alike = row.dump(-1, ' ', false, Json::error_handler_t::replace);
    const auto [at, is_new] = known.try_emplace({module != 0, std::move(alike)}, list.size());
    if (is_new)
      list.push_back(std::move(row));
    else
      list[at->second]["calls"] = list[at->second]["calls"].get<std::uint64_t>() + layer->calls;
    if (module != 0) list[at->second]["module_indexes"].push_back(parts.module(module));
  }
  return list;
}

}  // namespace castscope::report
