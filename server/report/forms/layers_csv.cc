#include <string>

#include "server/report/forms/csv.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/places/places.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

std::string reason(rules::NotCast why) { return why == rules::NotCast::kNone ? "" : std::string(rules::name(why)); }

void add_argument(std::string& text, const Model& model, const Layer& layer, const LayerArgument* argument) {
  const store::OperatorUse& use = *layer.first;
  const store::Module module = use.module == 0 ? store::Module() : model.run.modules[use.module];
  add_csv_line(text, {layer.at ? rules::portable_path(layer.at->file, model.run.start.project()) : "",
                      layer.at ? std::to_string(layer.at->line) : "",
                      layer.at ? layer.at->function : "",
                      module.model(),
                      module.path,
                      module.type,
                      use.op,
                      use.node,
                      std::string(store::name(use.phase)),
                      std::string(store::device_name(use.device)),
                      use.region ? std::to_string(use.region) : "",
                      argument ? argument->name : "",
                      argument ? std::string(store::name(argument->role)) : "",
                      argument ? dtype_or_blank(argument->given) : "",
                      argument ? dtype_or_blank(argument->entered) : "",
                      argument ? reason(argument->why) : "",
                      dtype_or_blank(use.computed),
                      dtype_or_blank(use.result),
                      std::to_string(layer.calls),
                      elsewhere_text(layer)});
}

}  // namespace

std::string layers_csv_text(const Model& model) {
  std::string text;
  add_csv_line(text,
               {"file",         "line",         "function",    "model",        "module",   "module_type", "operator",
                "node",         "phase",        "device",      "region",       "argument", "role",        "given_dtype",
                "passed_dtype", "why_not_cast", "computed_in", "result_dtype", "calls",    "elsewhere"});
  for (const Layer& layer : model.layers.all) {
    for (const LayerArgument& argument : layer.arguments) add_argument(text, model, layer, &argument);
    if (layer.arguments.empty()) add_argument(text, model, layer, nullptr);
  }
  return text;
}

}  // namespace castscope::report
