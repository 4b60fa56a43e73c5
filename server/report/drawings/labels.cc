#include "server/report/drawings/labels.h"

#include <algorithm>
#include <utility>

#include "server/report/text/words.h"
#include "server/store/run/names.h"
#include "server/utf8/utf8.h"

namespace castscope::report {
namespace {

std::string name_of(const graph::EntryCast& entry) {
  if (!entry.argument.empty()) return entry.argument;
  return entry.role == lanes::Role::kUnknown ? "argument" : std::string(store::name(entry.role));
}

std::string cast_text(std::uint8_t from, std::uint8_t to) {
  return graph::short_dtype(from) + "→" + graph::short_dtype(to);
}

std::string entry_text(const graph::EntryCast& entry) {
  std::string text = "casts " + name_of(entry);
  if (entry.role != lanes::Role::kUnknown && name_of(entry) != store::name(entry.role))
    text += " (" + std::string(store::name(entry.role)) + ")";
  text += " " + std::string(store::dtype_name(entry.from)) + " → " + std::string(store::dtype_name(entry.to));
  if (entry.casts + entry.hits == 0) return text;
  text += ": " + counted(entry.casts, "cast", "casts");
  return entry.hits == 0 ? text : text + ", " + counted(entry.hits, "cache hit", "cache hits");
}

}  // namespace

std::vector<std::string> entry_marks(const graph::Node& node, const std::vector<const graph::Edge*>& from_outside) {
  std::vector<graph::EntryCast> entries;
  for (const graph::Edge* edge : from_outside)
    entries.push_back({.argument = edge->argument, .role = {}, .from = edge->dtype, .to = edge->cast_to});
  entries.insert(entries.end(), node.entries.begin(), node.entries.end());
  std::vector<std::pair<std::string, std::string>> marks;  // cast, names
  for (const graph::EntryCast& entry : entries) {
    const std::string cast = cast_text(entry.from, entry.to);
    const auto known = std::find_if(marks.begin(), marks.end(), [&](const auto& mark) { return mark.first == cast; });
    if (known == marks.end())
      marks.emplace_back(cast, name_of(entry));
    else
      known->second += ", " + name_of(entry);
  }
  std::vector<std::string> texts;
  for (const auto& [cast, names] : marks) texts.push_back(names + " " + cast);
  return texts;
}

std::string edge_mark(const graph::Edge& edge) {
  return edge.is_cast() ? cast_text(edge.dtype, edge.cast_to) : std::string();
}

std::string dtypes_text(const graph::Node& node) {
  const std::string computed(store::dtype_name(node.computed));
  if (node.result == node.computed || node.result == graph::kNoDtype) return computed;
  return node.computed == graph::kNoDtype ? std::string(store::dtype_name(node.result))
                                          : computed + " → " + std::string(store::dtype_name(node.result));
}

std::string operator_text(const graph::Node& node) {
  return node.node.empty() ? node.op : node.op + " of " + node.node;
}

std::string module_text(const graph::Node& node) {
  if (node.module == nullptr) return "";
  return node.module->path.empty() ? node.module->model() : node.module->path;
}

std::string node_details(const store::RunData& run, const graph::Node& node) {
  std::string text = operator_text(node);
  if (node.module != nullptr) text += " in " + module_text(node) + " (" + node.module->type + ")";
  text += "\n" + place(run, node.at) + "\ncomputes in " + dtypes_text(node) +
          (node.by_code ? ", asked for by the code" : "");
  std::string given;
  for (const std::string& one : node.given) given += (given.empty() ? "\ngets " : ", ") + one;
  text += given;
  for (const graph::EntryCast& entry : node.entries) text += "\n" + entry_text(entry);
  return text + "\n" + counted(node.times, "call", "calls") + " in deep steps";
}

std::string beginning_of(const std::string& text, std::size_t characters) {
  if (utf8::characters(text) <= characters) return text;
  std::size_t to = 0;
  for (std::size_t n = 0; n + 1 < characters; ++n) do
      ++to;
    while (to < text.size() && utf8::continues(text[to]));
  return text.substr(0, to) + "…";
}

}  // namespace castscope::report
