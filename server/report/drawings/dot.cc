#include "server/report/drawings/dot.h"

#include <map>
#include <vector>

#include "server/graph/folding.h"
#include "server/report/drawings/labels.h"
#include "server/report/text/words.h"
#include "server/utf8/utf8.h"

namespace castscope::report {
namespace {

std::string quoted_for_dot(std::string_view text) { return "\"" + dot_escaped(text) + "\""; }

std::string color_of(std::uint8_t dtype) {
  const std::string name = graph::short_dtype(dtype);
  if (name == "f32") return "#f3dbcc";
  if (name == "bf16") return "#cce0f2";
  if (name == "f16") return "#e0d6e7";
  if (name == "f64") return "#e3d0d5";
  return "#eeeeee";
}

// A module, the operators that it calls, and its submodules.
struct Cluster {
  std::string step;  // the last one of the module's path
  std::vector<std::size_t> nodes = {};
  std::vector<Cluster> inner = {};
};

Cluster& inner(Cluster& cluster, const std::string& name) {
  for (Cluster& one : cluster.inner)
    if (one.step == name) return one;
  return cluster.inner.emplace_back(Cluster{name});
}

class Dot {
 public:
  explicit Dot(const store::RunData& run) : run_(run) {}

  std::string text() {
    out_ = "// Operators of a step, as castscope's deep steps saw them; casts by autocast have thick lines.\n";
    out_ +=
        "digraph castscope {\n  node [shape=box, style=filled, color=\"#808a97\", fontname=\"sans-serif\", "
        "fontsize=11];\n";
    out_ += "  edge [fontname=\"sans-serif\", fontsize=10];\n";
    const std::vector<graph::Part> parts = graph::parts_of(run_);
    if (parts.empty()) out_ += "  none [label=\"no deep step was recorded: castscope run --deep always\"];\n";
    for (std::size_t i = 0; i < parts.size(); ++i) write(parts[i], "p" + std::to_string(i));
    return out_ + "}\n";
  }

 private:
  void write(const graph::Part& part, const std::string& prefix) {
    Cluster whole{""};
    for (std::size_t i = 0; i < part.nodes.size(); ++i) {
      Cluster* cluster = &whole;
      if (const store::Module* module = part.nodes[i].module; module != nullptr)
        for (const std::string& step : graph::module_steps(*module)) cluster = &inner(*cluster, step);
      cluster->nodes.push_back(i);
    }
    write_cluster(part, prefix, std::string(graph::title(part.kind)), whole, 1);
    for (const graph::Edge& edge : part.edges) write_edge(edge, prefix);
  }

  void write_cluster(const graph::Part& part, const std::string& prefix, const std::string& name,
                     const Cluster& cluster, int depth) {
    const std::string indent(2 * static_cast<std::size_t>(depth), ' ');
    out_ += indent + "subgraph cluster_" + std::to_string(clusters_++) + " {\n";
    out_ += indent + "  label=" + quoted_for_dot(name) + "; fontname=\"sans-serif\"; color=\"#999999\";\n";
    for (const std::size_t node : cluster.nodes)
      write_node(part.nodes[node], prefix + "_" + std::to_string(node), indent);
    for (const Cluster& one : cluster.inner) write_cluster(part, prefix, one.step, one, depth + 1);
    out_ += indent + "}\n";
  }

  void write_node(const graph::Node& node, const std::string& id, const std::string& indent) {
    std::string label = operator_text(node) + "\n" + dtypes_text(node) + "\n" + place(run_, node.at);
    for (const std::string& mark : entry_marks(node)) label += "\ncast: " + mark;
    out_ += indent + "  " + id + " [label=" + quoted_for_dot(label) + ", fillcolor=\"" + color_of(node.computed) + "\"";
    if (!node.entries.empty()) out_ += ", color=\"#171b21\", penwidth=2";
    out_ += ", tooltip=" + quoted_for_dot(node_details(run_, node)) + "];\n";
  }

  void write_edge(const graph::Edge& edge, const std::string& prefix) {
    out_ += "  " + prefix + "_" + std::to_string(edge.from) + " -> " + prefix + "_" + std::to_string(edge.to);
    if (edge.is_cast())
      out_ += " [label=" + quoted_for_dot(edge_mark(edge)) + ", color=\"#171b21\", fontcolor=\"#171b21\", penwidth=2]";
    else
      out_ +=
          " [label=" + quoted_for_dot(graph::short_dtype(edge.dtype)) + ", color=\"#777777\", fontcolor=\"#777777\"]";
    out_ += ";\n";
  }

  const store::RunData& run_;
  std::string out_;
  int clusters_ = 0;
};

}  // namespace

std::string dot_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : utf8::repaired(text)) {
    if (c == '"' || c == '\\') escaped += '\\';
    if (c == '\n')
      escaped += "\\n";
    else if (static_cast<unsigned char>(c) >= ' ' && c != '\x7f')
      escaped += c;
  }
  return escaped;
}

std::string dot_text(const store::RunData& run) { return Dot(run).text(); }

}  // namespace castscope::report
