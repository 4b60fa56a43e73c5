#include "server/report/markdown.h"

#include <algorithm>
#include <array>
#include <map>

#include "server/report/costliest.h"
#include "server/report/words.h"
#include "server/rules/finding.h"

namespace castscope::report {
namespace {

constexpr std::size_t kFindings = 25, kCosts = 10;
// GitHub takes comments of up to 65,536 characters; what frames this text in one needs some of it.
constexpr std::size_t kMostBytes = 60'000;

// As code. A longer fence than any inside it; cells of tables end at a bar even there.
std::string code(std::string_view text) {
  std::string inside = on_one_line(as_utf8(text));
  std::size_t longest = 0, run = 0;
  for (const char c : inside) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  for (std::size_t at = 0; (at = inside.find('|', at)) != std::string::npos; at += 2) inside.insert(at, "\\");
  const std::string fence(longest + 1, '`');
  const bool pad = !inside.empty() && (inside.front() == '`' || inside.back() == '`');
  return inside.empty() ? "" : fence + (pad ? " " : "") + inside + (pad ? " " : "") + fence;
}

std::string by_severity(const std::vector<rules::Finding>& findings) {
  std::map<std::string_view, std::size_t> counts;
  for (const rules::Finding& finding : findings) ++counts[finding.severity];
  std::string text;
  for (const auto& [severity, one, many] : {std::array{"error", "error", "errors"},
                                            {"warning", "warning", "warnings"},
                                            {"performance", "performance", "performance"},
                                            {"info", "note", "notes"}}) {
    if (counts[severity] > 0) text += (text.empty() ? "" : ", ") + counted(counts[severity], one, many);
  }
  return text;
}

std::string heading(const Model& model) {
  std::string text = "### castscope: ";
  if (!model.judged()) return text + "findings cannot be told";
  if (model.findings.empty()) return text + (model.complete ? "no findings" : "no findings so far");
  return text + counted(model.findings.size(), "finding", "findings") + " (" + by_severity(model.findings) + ")";
}

// The finding's line and those around it that are kept.
std::string excerpt(const Model& model, const rules::Finding& finding) {
  if (!finding.location) return "";
  const store::SourceFile* const file = model.run.source.file(finding.location->file);
  if (file == nullptr || !file->lines.contains(finding.location->line)) return "";
  std::string text;
  std::size_t fence = 3, run = 0;
  for (std::int64_t n = finding.location->line - 2; n <= finding.location->line + 2; ++n) {
    const auto line = file->lines.find(n);
    if (line == file->lines.end()) continue;
    char mark[32];
    std::snprintf(mark, sizeof mark, "%s%5lld  ", n == finding.location->line ? ">" : " ", static_cast<long long>(n));
    text += mark + shown_source(line->second) + "\n";
    for (const char c : line->second) fence = std::max(fence, (run = c == '`' ? run + 1 : 0) + 1);
  }
  const std::string ticks(fence, '`');
  return ticks + "\n" + text + ticks + "\n";
}

std::string details(const Model& model, const rules::Finding& finding) {
  std::string text = "<details><summary>" + markdown_escaped(finding.rule) + ", " +
                     markdown_escaped(place(model.run, finding.location)) + "</summary>\n\n" +
                     markdown_escaped(finding.title) + ".\n\n";
  text += excerpt(model, finding);
  text += "\n**Fix:** " + markdown_escaped(finding.fix) + "\n\n";
  if (const std::string saved = savings_text(finding.savings); !saved.empty()) {
    text += "**Saves:** " + markdown_escaped(saved) + "\n\n";
  }
  for (const store::CodeLocation& at : finding.related) text += "- see also " + code(place(model.run, at)) + "\n";
  for (const auto& [name, value] : finding.evidence_text) text += "- " + code(name) + ": " + code(value) + "\n";
  for (const auto& [name, value] : finding.evidence_number) {
    text += "- " + code(name) + ": " + std::to_string(value) + "\n";
  }
  if (finding.deep_only) text += "- seen in deep steps only: the counts are of those\n";
  return text + "\n</details>\n";
}

std::string findings(const Model& model) {
  if (model.findings.empty()) return "";
  std::string table = "\n| | rule | where | what |\n|---|---|---|---|\n", folded = "\n";
  const std::size_t shown = std::min(model.findings.size(), kFindings);
  for (std::size_t i = 0; i < shown; ++i) {
    const rules::Finding& finding = model.findings[i];
    const std::string row = "| " + finding.severity + " | " + code(finding.rule) + " | " +
                            code(place(model.run, finding.location)) + " | " + markdown_escaped(finding.title) + " |\n";
    const std::string more = details(model, finding);
    if (table.size() + folded.size() + row.size() + more.size() > kMostBytes * 3 / 4) {
      return table + "\n" + grouped(model.findings.size() - i) + " more are in the report.\n" + folded;
    }
    table += row;
    folded += more;
  }
  if (model.findings.size() > shown) {
    table += "\n" + grouped(model.findings.size() - shown) + " more are in the report.\n";
  }
  return table + folded;
}

std::string costs(const Model& model) {
  const std::vector<Cost> all = costliest(model);
  if (all.empty()) return "";
  std::string text = "\n<details><summary>Costliest casts</summary>\n\n| share | where | what |\n|---:|---|---|\n";
  for (std::size_t i = 0; i < std::min(all.size(), kCosts); ++i) {
    text += "| " + percent(all[i].share) + " | " + code(place(model.run, all[i].at)) + " | " +
            markdown_escaped(description(model, all[i])) + " |\n";
  }
  return text + "\n</details>\n";
}

}  // namespace

std::string markdown_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : on_one_line(as_utf8(text))) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '@') {
      escaped += "@\u200b";  // a space of no width: nobody is called by that name
    } else {
      if (std::string_view("\\`*_[]|~#").find(c) != std::string_view::npos) escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

std::string markdown_text(const Model& model) {
  std::string text = heading(model) + "\n\n" + markdown_escaped(totals_line(model)) + ".\n";
  if (const std::string cache = cache_line(model); !cache.empty()) text += "Cache: " + cache + ".\n";
  if (!model.complete && !model.run.damage)
    text += "\n**The run is not complete:** what had been published until then is counted here.\n";
  text += findings(model);
  if (const std::string ignored = ignored_text(model); !ignored.empty())
    text += "\n" + markdown_escaped(ignored) + ".\n";
  std::string tail = costs(model);
  for (const std::string& notice : model.notices) tail += "\n> " + markdown_escaped(notice) + "\n";
  if (text.size() + tail.size() <= kMostBytes) text += tail;
  return text;
}

}  // namespace castscope::report
