// The tables of the page that show which dtypes operators were given, computed in and returned, and what was not cast.
#include <algorithm>

#include "server/report/html/parts.h"
#include "server/report/html/table.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

constexpr std::size_t kLayers = 300;

std::string dtype(std::uint8_t number) {
  return number == rules::kNoDtype ? "" : std::string(store::dtype_name(number));
}

std::string operator_text(const Layer& layer) {
  const std::string name = rules::short_name(layer.first->op);
  return layer.first->node.empty() ? name : name + " for " + layer.first->node;
}

}  // namespace

void write_layers(Html& html, const Model& model) {
  const std::vector<Layer> groups = in_groups(model.run, model.layers.all);
  if (groups.empty()) return;
  html.leaf("h2", "Layers");
  html.leaf("p",
            "What operators were given, computed in and gave back, in " +
                what_was_looked_at(model.layers, model.looked_at) +
                "; why an argument was not cast; and where autocast of another "
                "device would compute in another dtype.",
            {{"class", "soft"}});
  {
    Table table(html, {{"where"},
                       {"module"},
                       {"operator"},
                       {"phase"},
                       {"given"},
                       {"computed in"},
                       {"gave back"},
                       {"calls", true},
                       {"not cast"},
                       {"elsewhere"}});
    for (std::size_t i = 0; i < std::min(groups.size(), kLayers); ++i) {
      const Layer& layer = groups[i];
      table.row({place(model.run, layer.at), module_text(model.run, layer), operator_text(layer),
                 std::string(store::name(layer.first->phase)), given_text(layer), dtype(layer.first->computed),
                 dtype(layer.first->result), grouped(layer.calls), why_text(layer), elsewhere_text(layer)});
    }
  }
  write_rest(html, groups.size(), kLayers, "JSON");
}

}  // namespace castscope::report
