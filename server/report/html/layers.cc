// The tables of the page that show which dtypes operators were given, computed in and returned, and what was not cast.
#include <ranges>

#include "server/report/html/page_text.h"
#include "server/report/html/parts.h"
#include "server/report/html/table.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

std::string dtype(std::uint8_t number) {
  return number == rules::kNoDtype ? "" : std::string(store::dtype_name(number));
}

std::string operator_text(const Layer& layer) {
  const std::string name = rules::short_name(layer.first->op);
  return layer.first->node.empty() ? name : name + " for " + layer.first->node;
}

std::string_view phase_words(lanes::Phase phase) {
  return phase == lanes::Phase::kOther ? "outside both" : store::name(phase);
}

std::vector<std::string> telling_of(const store::RunData& run, const Layer& layer) {
  std::vector<std::string> telling;
  const store::Region* const region = run.regions.find(layer.first->region);
  telling.push_back(region == nullptr ? "outside any region"
                                      : "in the region of " + place(run, run.user_location(region->stack)));
  for (std::string& one : telling_of_stack(run, layer.first->stack)) telling.push_back(std::move(one));
  std::string roles;
  for (const LayerArgument& argument : layer.arguments)
    roles += (roles.empty() ? "of role " : ", ") + std::string(store::name(argument.role));
  telling.push_back(roles);
  telling.push_back("operator use " + std::to_string(layer.first->id));
  return telling;
}

}  // namespace

void write_layers(Page& page, const Model& model) {
  const std::vector<Layer> groups = in_groups(model.run, model.layers.all);
  if (groups.empty()) return;
  const Section section(page, "layers", "Layers", OnPaper::kNo);
  page.html.leaf("p",
                 "What operators were given, computed in and gave back, in " +
                     what_was_looked_at(model.layers, model.looked_at) +
                     "; why an argument was not cast; and where autocast of another "
                     "device would compute in another dtype.",
                 {{"class", "soft"}});
  Table table("Forward passes first, in the order of their first calls.", {{"where"},
                                                                           {"module"},
                                                                           {"operator"},
                                                                           {"phase"},
                                                                           {"given"},
                                                                           {"computed in"},
                                                                           {"gave back"},
                                                                           {"calls", true},
                                                                           {"not cast"},
                                                                           {"elsewhere"}});
  for (const Layer& layer : groups | std::views::take(Table::kMost)) {
    table.add({.cells = {place(model.run, layer.at), module_text(model.run, layer), operator_text(layer),
                         std::string(phase_words(layer.first->phase)), given_text(layer), dtype(layer.first->computed),
                         dtype(layer.first->result), grouped(layer.calls), why_text(layer), elsewhere_text(layer)},
               .telling = telling_of(model.run, layer)});
  }
  table.write(page.html, groups.size(), "JSON");
}

}  // namespace castscope::report
