// The graph of a step on the page: the drawing, and a row for each operator, which the operator's box links to. Folding
// works without a script: a module's box links to a drawing of its own, which is closed until somebody opens it.
#include <algorithm>

#include "server/graph/folding.h"
#include "server/report/drawings/labels.h"
#include "server/report/drawings/svg.h"
#include "server/report/html/page_text.h"
#include "server/report/html/parts.h"
#include "server/report/html/table.h"
#include "server/report/text/words.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

constexpr std::size_t kNodeRows = 400;  // of a part: boxes of the drawing lead to them

void write_legend(Html& html, const graph::Part& part) {
  const auto legend = html.element("p", {{"class", "legend"}});
  write_swatch(html, "cast", "a cast by autocast");
  std::set<std::uint8_t> dtypes;
  for (const graph::Node& node : part.nodes) dtypes.insert(node.computed);
  for (const std::uint8_t dtype : dtypes) {
    const std::string short_name = graph::short_dtype(dtype), name(store::dtype_name(dtype));
    if (dtype == graph::kNoDtype) continue;
    write_swatch(html, dtype_class(dtype),
                 short_name == name ? "computes in " + name : short_name + ": computes in " + name);
  }
}

std::string summary_of(const graph::Part& part) {
  std::size_t operators = 0;
  for (const graph::Node& node : part.nodes) operators += node.entries.size() + node.edge_casts > 0;
  return counted(part.nodes.size(), "operator", "operators") + ", " +
         counted(operators, "of which gets an argument that autocast casts",
                 "of which get arguments that autocast casts");
}

void write_left_out(Html& html, const graph::View& view) {
  if (view.left_out > 0)
    html.leaf("p",
              counted(view.left_out, "more operator is", "more operators are") +
                  " not drawn: they belong to no module that could stand for them. `castscope report -f dot` has all.",
              {{"class", "soft"}});
  const bool undrawn = std::any_of(view.items.begin(), view.items.end(), [](const graph::Item& item) {
    return item.folded() && item.view == graph::kNoView;
  });
  if (undrawn)
    html.leaf("p",
              "Some modules are not drawn on their own: there are too many for one page. `castscope report -f dot` "
              "has all of them.",
              {{"class", "soft"}});
}

// "The forward pass", "What is computed without gradients"
std::string title_of(const graph::Part& part) {
  const bool is_pass = part.kind == graph::Part::Kind::kForward || part.kind == graph::Part::Kind::kBackward;
  return (is_pass ? "The " : "What is computed ") + std::string(graph::title(part.kind));
}

void write_view(Html& html, const Model& model, const graph::Part& part, const graph::View& view,
                const std::string& id) {
  {
    // It scrolls in its frame, by keyboard if the frame can have the focus.
    const std::string name = view.module.empty() ? std::string(graph::title(part.kind)) : "Inside " + view.module;
    const auto frame = html.element(
        "div", {{"class", "graph"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "Graph: " + name}});
    draw_view(html, model.run, part, view, id);
  }
  write_left_out(html, view);
}

std::string casts_text(const graph::Part& part, std::size_t node) {
  std::string text;
  for (const std::string& mark : entry_marks(part.nodes[node])) text += (text.empty() ? "" : "; ") + mark;
  for (const graph::Edge& edge : part.edges) {
    if (edge.to != node || !edge.is_cast()) continue;
    text += (text.empty() ? "" : "; ") + (edge.argument.empty() ? std::string("a value") : edge.argument) + " " +
            edge_mark(edge) + " from " + part.nodes[edge.from].op;
  }
  return text;
}

std::string given_text(const graph::Node& node) {
  std::string text;
  for (const std::string& one : node.given) text += (text.empty() ? "" : ", ") + one;
  return text;
}

void write_rows(Html& html, const Model& model, const graph::Part& part, const std::string& id) {
  const auto details = html.element("details");
  html.leaf("summary", "The operators in order, with their casts");
  Table table("In the order of their first calls.", {{"number", true},
                                                     {"where"},
                                                     {"module"},
                                                     {"operator"},
                                                     {"gets"},
                                                     {"computes in"},
                                                     {"casts by autocast"},
                                                     {"calls", true}});
  for (std::size_t i = 0; i < std::min(part.nodes.size(), kNodeRows); ++i) {
    const graph::Node& node = part.nodes[i];
    table.add({.cells = {grouped(i + 1), place(model.run, node.at), module_text(node), operator_text(node),
                         given_text(node), dtypes_text(node), casts_text(part, i), grouped(node.times)},
               .id = id + "-op" + std::to_string(i + 1)});
  }
  table.write_unfolded(html, part.nodes.size(), "dot");
}

void write_part(Html& html, const Model& model, const graph::Part& part, const std::string& id) {
  html.leaf("p", summary_of(part) + ".", {{"class", "soft"}});
  write_legend(html, part);
  const std::vector<graph::View> views = graph::fold(part);
  write_view(html, model, part, views.front(), id);
  for (std::size_t i = 1; i < views.size(); ++i) {
    const auto details = html.element("details");
    html.leaf("summary", "Inside " + views[i].module);
    // The target of the link lies inside the closed drawing: following the link opens the drawing.
    const auto place = html.element("div", {{"id", id + "-view" + std::to_string(i)}});
    write_view(html, model, part, views[i], id);
  }
  write_rows(html, model, part, id);
}

}  // namespace

void write_graph(Page& page, const Model& model) {
  const std::vector<graph::Part> parts = graph::parts_of(model.run);
  if (parts.empty()) return;
  const Section section(page, "graph", "The graph of a step, with its casts", OnPaper::kNo);
  Html& html = page.html;
  html.leaf("p",
            "As deep steps saw it, from top to bottom: what computes in which dtype, and where autocast casts (the "
            "thick lines). A box leads to its row; pointing at it tells more.",
            {{"class", "soft"}});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string id = "graph" + std::to_string(i + 1), title = title_of(parts[i]);
    if (i == 0) {
      html.leaf("h3", title);
      write_part(html, model, parts[i], id);
      continue;
    }
    const auto details = html.element("details");
    html.leaf("summary", title);
    write_part(html, model, parts[i], id);
  }
}

}  // namespace castscope::report
