#include "server/report/forms/markdown.h"

#include <algorithm>
#include <array>
#include <map>

#include "server/report/model/costliest.h"
#include "server/report/model/gpu.h"
#include "server/report/model/metrics.h"
#include "server/report/model/protected_arguments.h"
#include "server/report/model/unjudged.h"
#include "server/report/text/html_writer.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/rules.h"
#include "server/store/run/names.h"
#include "server/utf8/utf8.h"

namespace castscope::report {
namespace {

constexpr std::size_t kMarkdownFindings = 25, kCosts = 10, kLayers = 40, kMetrics = 12;
// GitHub takes comments of up to 65,536 characters; the text around this one needs some of them.
constexpr std::size_t kMostBytes = 60'000;
// Shares of kMostBytes. Names may be as long as file names, and the parts behind them must have their place too.
constexpr std::size_t kMostOfFindings = 43'000, kMostOfNotices = 8'000, kMostOfNotice = 1'000;

// Formats the text as code: the fence is longer than any fence inside it.
std::string code(std::string_view text) {
  const std::string inside = on_one_line(utf8::repaired(text));
  std::size_t longest = 0, run = 0;
  for (const char c : inside) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  const std::string fence(longest + 1, '`');
  const bool pad = !inside.empty() && (inside.front() == '`' || inside.back() == '`');
  return inside.empty() ? "" : fence + (pad ? " " : "") + inside + (pad ? " " : "") + fence;
}

// Formats the text as code within a table, whose cells end at a bar even there.
std::string code_cell(std::string_view text) {
  std::string cell = code(text);
  for (std::size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2) cell.insert(at, "\\");
  return cell;
}

// Escapes the text for a block of HTML, where Markdown's own characters have no meaning.
std::string in_html(std::string_view text) {
  std::string escaped;
  for (const char c : html_escaped(on_one_line(utf8::repaired(text)))) {
    escaped += c;
    if (c == '@') escaped += "\u200b";  // as in markdown_escaped
  }
  return escaped;
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
  if (!model.judged()) return text + "findings cannot be determined";
  const std::string failure = failure_text(model), end = failure.empty() ? "" : "; " + failure;
  if (model.findings.empty()) {
    if (model.run.damage) return text + "no findings in what can be read of the run file" + end;
    if (!model.observed) return text + (model.run.end ? "not observed" : "not observed so far") + end;
    if (!model.complete()) return text + (model.run.end ? "no findings in what was seen" : "no findings so far") + end;
    return text + "no findings" + end;
  }
  return text + counted(model.findings.size(), "finding", "findings") + " (" + by_severity(model.findings) + ")" + end;
}

// Quotes the finding's line and the kept lines around it.
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
  std::string text = "<details><summary>" + in_html(finding.rule) + ", " + in_html(place(model.run, finding.location)) +
                     "</summary>\n\n" + markdown_escaped(finding.title) + ".\n\n";
  text += excerpt(model, finding);
  text += "\n**Fix:** " + markdown_escaped(finding.fix) + "\n\n";
  if (const std::string saved = savings_text(finding.savings, model.steps); !saved.empty()) {
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

std::string others_are(std::size_t count, const std::string& one, const std::string& many) {
  return counted(count, "more " + one + " is", "more " + many + " are") + " in the JSON report.\n";
}

std::string findings(const Model& model) {
  if (model.findings.empty()) return "";
  std::string table = "\n| | rule | where | what |\n|---|---|---|---|\n", folded = "\n";
  const std::size_t shown = std::min(model.findings.size(), kMarkdownFindings);
  for (std::size_t i = 0; i < shown; ++i) {
    const rules::Finding& finding = model.findings[i];
    const std::string harm(rules::words(rules::harm_of(finding)));
    const std::string row = "| " + finding.severity + (harm.empty() ? "" : ", " + harm) + " | " +
                            code_cell(finding.rule) + " | " + code_cell(place(model.run, finding.location)) + " | " +
                            markdown_escaped(finding.title) + " |\n";
    const std::string more = details(model, finding);
    if (table.size() + folded.size() + row.size() + more.size() > kMostOfFindings) {
      return table + "\n" + others_are(model.findings.size() - i, "finding", "findings") + folded;
    }
    table += row;
    folded += more;
  }
  if (model.findings.size() > shown) {
    table += "\n" + others_are(model.findings.size() - shown, "finding", "findings");
  }
  return table + folded;
}

std::string costs(const Model& model) {
  const Costs found = costliest(model);
  const std::vector<Cost>& all = found.all;
  if (all.empty()) return "";
  std::string text =
      found.by_bytes ? "\n<details><summary>Largest casts: those in compiled graphs are not timed</summary>\n\n"
                       "| share of their bytes | where | what |\n|---:|---|---|\n"
                     : "\n<details><summary>Costliest casts, autocast's and others, without the first of each place, "
                       "which sets things up</summary>\n\n| share of their CPU time | where | what |\n|---:|---|---|\n";
  for (std::size_t i = 0; i < std::min(all.size(), kCosts); ++i) {
    text += "| " + percent(all[i].share) + " | " + code_cell(place_of(model, all[i])) + " | " +
            markdown_escaped(description(model, all[i])) + " |\n";
  }
  return text + "\n</details>\n";
}

// Only forward passes are shown: a backward pass follows their dtypes.
std::string layers(const Model& model) {
  std::vector<Layer> groups = in_groups(model.run, model.layers.all);
  std::erase_if(groups, [](const Layer& layer) { return layer.first->phase != lanes::Phase::kForward; });
  if (groups.empty()) return "";
  std::string text = "\n<details><summary>Layers' dtypes, in " + what_was_looked_at(model.layers, model.looked_at) +
                     "</summary>\n\n| where | module | operator | given | computed in "
                     "| gave back | calls | not cast | elsewhere |\n|---|---|---|---|---|---|---:|---|---|\n";
  for (std::size_t i = 0; i < std::min(groups.size(), kLayers); ++i) {
    const Layer& layer = groups[i];
    text += "| " + code_cell(place(model.run, layer.at)) + " | " + markdown_escaped(module_text(model.run, layer)) +
            " | " + markdown_escaped(rules::short_name(layer.first->op)) + " | " + markdown_escaped(given_text(layer)) +
            " | " + dtype_or_blank(layer.first->computed) + " | " + dtype_or_blank(layer.first->result) + " | " +
            grouped(layer.calls) + " | " + markdown_escaped(why_text(layer)) + " | " + elsewhere_text(layer) + " |\n";
  }
  if (groups.size() > kLayers) text += "\n" + others_are(groups.size() - kLayers, "layer", "layers");
  return text + "\n</details>\n";
}

// Lists autocast's casts in brief, as the summary does.
std::string in_brief(const Model& model) {
  std::string text;
  const auto add = [&](const char* name, const std::string& what) {
    if (!what.empty()) text += std::string(name) + ": " + markdown_escaped(what) + ".\n";
  };
  add("Cast", roles_line(model.roles));
  add("Not cached", not_kept_line(model.roles));
  add("Cache", cache_line(model));
  if (model.input) add("The model's input", input_line(model.run, *model.input));
  if (const std::string computed = computed_line(model.run, model.layers); !computed.empty())
    add("Computed", computed + " (" + looked_at_text(model.layers, model.looked_at) + " looked at)");
  add("Numbers of the steps", metrics_line(model, kMetrics));
  return text;
}

std::string notices_of(const Model& model) {
  std::string text;
  for (std::size_t i = 0; i < model.notices.size(); ++i) {
    std::string notice = utf8::repaired(model.notices[i]);
    const std::size_t end = utf8::cut(notice, kMostOfNotice);
    if (end < notice.size()) notice = notice.substr(0, end) + "…";
    notice = "\n> " + markdown_escaped(notice) + "\n";
    if (text.size() + notice.size() > kMostOfNotices)
      return text + "\n> " + others_are(model.notices.size() - i, "notice", "notices");
    text += notice;
  }
  return text;
}

}  // namespace

std::string markdown_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : on_one_line(utf8::repaired(text))) {
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
  if (const std::string others = other_causes(model); !others.empty())
    text += "Casts not by autocast: " + markdown_escaped(others) + ".\n";
  text += in_brief(model);
  for (const std::string& line : gpu_lines(model)) text += markdown_escaped(line) + ".\n";
  for (const std::string& line : protected_lines(model.run)) text += markdown_escaped(line) + ".\n";
  if (!model.complete() && !model.run.damage)
    text += "\n**The run is not complete:** only what had been recorded by then is counted here.\n";
  text += notices_of(model);
  text += findings(model);
  if (const std::string ignored = ignored_text(model); !ignored.empty())
    text += "\n" + markdown_escaped(ignored) + ".\n";
  if (model.judged())
    for (const std::string& sentence : unjudged_sentences(model.rules))
      text += "\n" + markdown_escaped(sentence) + ".\n";
  const std::string tail = costs(model);
  text += text.size() + tail.size() <= kMostBytes
              ? tail
              : "\nThe costliest casts are left out here: they are in the CSV report.\n";
  const std::string dtypes = layers(model);
  text += text.size() + dtypes.size() <= kMostBytes
              ? dtypes
              : "\nLayers' dtypes are left out here: they are in the HTML report.\n";
  return text;
}

}  // namespace castscope::report
