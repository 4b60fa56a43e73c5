#include "server/report/drawings/svg.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "server/graph/layout.h"
#include "server/report/drawings/labels.h"
#include "server/report/text/words.h"
#include "server/store/run/names.h"
#include "server/utf8/utf8.h"

namespace castscope::report {
namespace {

// All lengths are in pixels, as those of the page's text: the drawing is never scaled, it scrolls.
constexpr double kBoxWidth = 232, kBoxHeight = 50, kMark = 17, kMargin = 8, kBadge = 44;
constexpr double kLetter = 7.4, kSmallLetter = 6.4, kBoldLetter = 7;  // of the widest common fonts, at 12, 11 and 11 px

std::string at(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

// Cuts the text to the width. The end of a path is kept rather than its beginning.
std::string tail(const std::string& text, double width, double letter) {
  const auto most = static_cast<std::size_t>(width / letter);
  std::size_t all = utf8::characters(text);
  if (all <= most) return text;
  std::size_t from = 0;
  for (; all >= most && from < text.size(); --all) do
      ++from;
    while (from < text.size() && utf8::continues(text[from]));
  return "…" + text.substr(from);
}

std::string head(const std::string& text, double width, double letter) {
  return beginning_of(text, static_cast<std::size_t>(width / letter));
}

class Drawing {
 public:
  Drawing(Html& html, const store::RunData& run, const graph::Part& part, const graph::View& view,
          const std::string& id)
      : html_(html), run_(run), part_(part), view_(view), id_(id) {
    std::vector<graph::Box> boxes;
    for (const graph::Item& item : view.items) {
      marks_.push_back(marks_of(item));
      boxes.push_back({kBoxWidth, kBoxHeight + kMark * static_cast<double>(marks_.back().size())});
    }
    std::vector<graph::Link> links;
    for (const graph::Bundle& bundle : view.bundles) links.push_back({bundle.from, bundle.to});
    layout_ = graph::lay_out(boxes, links);
  }

  void draw() {
    const double width = layout_.width + 2 * kMargin, height = layout_.height + 2 * kMargin;
    const std::string spoken = std::string(graph::title(part_.kind)) +
                               (view_.module.empty() ? "" : " of " + view_.module) + ": " +
                               counted(view_.items.size(), "box", "boxes") + " and their casts";
    const auto svg =
        html_.element("svg", {{"width", at(width)},
                              {"height", at(height)},
                              {"viewBox", at(-kMargin) + " " + at(-kMargin) + " " + at(width) + " " + at(height)},
                              {"role", "group"},  // its boxes are links
                              {"aria-label", spoken}});
    for (std::size_t i = 0; i < view_.bundles.size(); ++i) line(i);
    for (std::size_t i = 0; i < view_.items.size(); ++i) box(i);
    for (std::size_t i = 0; i < view_.bundles.size(); ++i) mark_line(i);
  }

 private:
  std::vector<std::string> marks_of(const graph::Item& item) const {
    if (!item.folded()) return entry_marks(part_.nodes[item.node], item.from_outside);
    if (item.casts == 0) return {};
    return {counted(item.casts, "argument is cast inside", "arguments are cast inside")};
  }

  void line(std::size_t i) {
    const std::vector<graph::Point>& points = layout_.routes[i];
    if (points.size() < 2) return;
    std::string path = "M" + at(points[0].x) + " " + at(points[0].y);
    for (std::size_t p = 1; p < points.size(); ++p) {
      const double middle = (points[p - 1].y + points[p].y) / 2;
      path += "C" + at(points[p - 1].x) + " " + at(middle) + " " + at(points[p].x) + " " + at(middle) + " " +
              at(points[p].x) + " " + at(points[p].y);
    }
    const graph::Bundle& bundle = view_.bundles[i];
    const graph::Edge* cast = cast_in(bundle);
    html_.leaf(
        "path", "",
        {{"class", cast != nullptr ? "line cast" : "line " + dtype_class(bundle.edges.front()->dtype)}, {"d", path}});
    arrow(points.back(), points[points.size() - 2], cast != nullptr ? "tip cast" : "tip");
  }

  void arrow(const graph::Point& end, const graph::Point& before, const std::string& name) {
    const double away = end.y >= before.y ? -7 : 7;
    html_.leaf("path", "", {{"class", name}, {"d", "M" + at(end.x) + " " + at(end.y) + "l-4 " + at(away) + "h8z"}});
  }

  static const graph::Edge* cast_in(const graph::Bundle& bundle) {
    const auto cast =
        std::find_if(bundle.edges.begin(), bundle.edges.end(), [](const auto* edge) { return edge->is_cast(); });
    return cast == bundle.edges.end() ? nullptr : *cast;
  }

  // Where several different casts lie between two boxes, the mark shows their number; the rows list each of them.
  static std::string mark_of(const graph::Bundle& bundle) {
    std::vector<std::string> marks;
    for (const graph::Edge* edge : bundle.edges) {
      const std::string mark = edge_mark(*edge);
      if (!mark.empty() && std::find(marks.begin(), marks.end(), mark) == marks.end()) marks.push_back(mark);
    }
    if (marks.size() > 2) return counted(marks.size(), "cast", "casts");
    return marks.empty() ? "" : marks.size() == 1 ? marks[0] : marks[0] + ", " + marks[1];
  }

  void mark_line(std::size_t i) {
    const graph::Bundle& bundle = view_.bundles[i];
    const std::string text = mark_of(bundle);
    const std::vector<graph::Point>& points = layout_.routes[i];
    if (text.empty() || points.size() < 2) return;
    // The mark stands near the box that the line goes into, in the free strip above it.
    const graph::Point &end = points.back(), &before = points[points.size() - 2];
    const double share = 0.45, x = end.x + (before.x - end.x) * share * share, y = end.y + (before.y - end.y) * share;
    const double width = kBoldLetter * static_cast<double>(utf8::characters(text)) + 12;
    const auto group = html_.element("g", {{"class", "mark"}});
    std::string told;
    for (const graph::Edge* edge : bundle.edges) {
      if (!edge->is_cast()) continue;
      told += (told.empty() ? "" : "\n") + (edge->argument.empty() ? std::string("a value") : edge->argument) + " of " +
              part_.nodes[edge->to].op + " is cast " + std::string(store::dtype_name(edge->dtype)) + " → " +
              std::string(store::dtype_name(edge->cast_to)) + ", " + counted(edge->times, "time", "times") +
              " in deep steps";
    }
    html_.leaf("title", told);
    html_.leaf("rect", "",
               {{"x", at(x - width / 2)}, {"y", at(y - 8)}, {"width", at(width)}, {"height", "16"}, {"rx", "8"}});
    html_.leaf("text", text, {{"x", at(x)}, {"y", at(y + 4)}, {"text-anchor", "middle"}});
  }

  void box(std::size_t i) {
    const graph::Item& item = view_.items[i];
    const graph::Point corner = layout_.boxes[i];
    const double marks = kMark * static_cast<double>(marks_[i].size());
    const std::string target = target_of(item);
    // A box without a link becomes a group.
    const auto link = target.empty() ? html_.element("g") : html_.element("a", {{"href", target}});
    const auto group = html_.element("g", {{"class", "box " + class_of(item)}});
    html_.leaf("title", item.folded() ? folded_text(item) : node_details(run_, part_.nodes[item.node]));
    for (std::size_t m = 0; m < marks_[i].size(); ++m)
      entry(corner.x, corner.y + kMark * static_cast<double>(m), marks_[i][m]);
    const double x = corner.x, y = corner.y + marks;
    html_.leaf("rect", "",
               {{"class", "body"},
                {"x", at(x)},
                {"y", at(y)},
                {"width", at(kBoxWidth)},
                {"height", at(kBoxHeight)},
                {"rx", "5"}});
    html_.leaf("rect", "",
               {{"class", "badge"},
                {"x", at(x)},
                {"y", at(y)},
                {"width", at(kBadge)},
                {"height", at(kBoxHeight)},
                {"rx", "5"}});
    badge(item, x, y);
    words(item, x + kBadge + 7, y);
  }

  void entry(double x, double y, const std::string& text) {
    const auto group = html_.element("g", {{"class", "mark"}});
    html_.leaf("rect", "",
               {{"x", at(x)}, {"y", at(y)}, {"width", at(kBoxWidth)}, {"height", at(kMark - 1)}, {"rx", "5"}});
    html_.leaf("text", tail(text, kBoxWidth - 12, kBoldLetter), {{"x", at(x + 7)}, {"y", at(y + 12)}});
  }

  // Writes the dtype in words: the one that the operator computes in, and below it the one of the result.
  void badge(const graph::Item& item, double x, double y) {
    const double middle = x + kBadge / 2;
    const auto text = [&](const std::string& what, double down) {
      html_.leaf("text", what, {{"class", "dtype"}, {"x", at(middle)}, {"y", at(y + down)}, {"text-anchor", "middle"}});
    };
    if (item.folded() && item.computed.size() > 1) return text("mixed", 29);
    const graph::Node& node = part_.nodes[item.node];
    const std::uint8_t computed = item.computed.empty() ? node.computed : *item.computed.begin();
    const bool gives_another = !item.folded() && node.result != node.computed && node.result != graph::kNoDtype;
    if (!gives_another) return text(graph::short_dtype(computed), 29);
    text(graph::short_dtype(computed), 20);
    text("→" + graph::short_dtype(node.result), 36);
  }

  void words(const graph::Item& item, double x, double y) {
    const double width = kBoxWidth - kBadge - 12;
    const auto text = [&](const char* name, const std::string& what, double down) {
      if (!what.empty()) html_.leaf("text", what, {{"class", name}, {"x", at(x)}, {"y", at(y + down)}});
    };
    if (item.folded()) {
      std::string last = item.module.substr(item.module.rfind('.') + 1);
      text("name", head(item.module_type.empty() ? last : item.module_type, width, kLetter), 16);
      // The model's name is left out: as a rule all boxes share it.
      const std::size_t dot = item.module.find('.');
      text("soft", tail(dot == std::string::npos ? item.module : item.module.substr(dot + 1), width, kSmallLetter), 31);
      text("soft", counted(item.operators, "operator", "operators") + (item.view == graph::kNoView ? "" : ": open it"),
           45);
      return;
    }
    const graph::Node& node = part_.nodes[item.node];
    text("name", head(node.op + (node.by_code ? " (by the code)" : ""), width, kLetter), 16);
    text("soft", tail(node.node.empty() ? module_text(node) : node.node, width, kSmallLetter), 31);
    text("soft", tail(place(run_, node.at), width, kSmallLetter), 45);
  }

  std::string target_of(const graph::Item& item) const {
    if (!item.folded()) return "#" + id_ + "-op" + std::to_string(item.node + 1);
    return item.view == graph::kNoView ? "" : "#" + id_ + "-view" + std::to_string(item.view);
  }

  std::string class_of(const graph::Item& item) const {
    if (item.folded() && item.computed.size() > 1) return "folded d-mixed";
    return (item.folded() ? "folded " : "") +
           dtype_class(item.computed.empty() ? graph::kNoDtype : *item.computed.begin());
  }

  static std::string folded_text(const graph::Item& item) {
    std::string text = item.module + (item.module_type.empty() ? "" : " (" + item.module_type + ")") + "\n" +
                       counted(item.operators, "operator", "operators") + ", computing in ";
    std::string dtypes;
    for (const std::uint8_t dtype : item.computed)
      dtypes += (dtypes.empty() ? "" : ", ") + std::string(store::dtype_name(dtype));
    return text + dtypes + "\n" + counted(item.casts, "argument is cast", "arguments are cast");
  }

  Html& html_;
  const store::RunData& run_;
  const graph::Part& part_;
  const graph::View& view_;
  const std::string id_;
  std::vector<std::vector<std::string>> marks_;  // of each item
  graph::Layout layout_;
};

}  // namespace

std::string dtype_class(std::uint8_t dtype) {
  const std::string name = graph::short_dtype(dtype);
  constexpr std::array kColoured = {"bf16",        "f16",        "f32",   "f64", "float8_e4m3fn",
                                    "float8_e5m2", "complex128", "int64", "bool"};
  return std::ranges::find(kColoured, name) == kColoured.end() ? "d-other" : "d-" + name;
}

void draw_view(Html& html, const store::RunData& run, const graph::Part& part, const graph::View& view,
               const std::string& id) {
  Drawing(html, run, part, view, id).draw();
}

}  // namespace castscope::report
