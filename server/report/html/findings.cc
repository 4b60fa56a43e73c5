#include <algorithm>

#include "server/report/html/parts.h"
#include "server/report/model/unjudged.h"
#include "server/report/text/words.h"
#include "server/rules/rules.h"

namespace castscope::report {
namespace {

constexpr std::size_t kFindings = 500;  // nobody reads a page with more
constexpr int kContext = 3;

void write_source(Html& html, const Model& model, const store::CodeLocation& at) {
  const store::SourceFile* const file = model.run.source.file(at.file);
  if (file == nullptr || !file->lines.contains(at.line)) return;
  const auto block = html.element("pre", {{"class", "source"}});
  for (std::int64_t n = at.line - kContext; n <= at.line + kContext; ++n) {
    const auto line = file->lines.find(n);
    if (line == file->lines.end()) continue;
    const bool hit = n == at.line;
    const auto row = hit ? html.element("span", {{"class", "hit"}}) : html.element("span");
    html.leaf("i", std::to_string(n));
    html.text(shown_source(line->second));
  }
}

void write_evidence(Html& html, const rules::Finding& finding) {
  const auto table = html.element("table", {{"class", "evidence"}});
  const auto row = [&](std::string name, const std::string& value) {
    std::replace(name.begin(), name.end(), '_', ' ');
    const auto line = html.element("tr");
    html.leaf("td", name);
    html.leaf("td", value);
  };
  for (const auto& [name, value] : finding.evidence_text) row(name, value);
  for (const auto& [name, value] : finding.evidence_number) {
    row(name, value >= 0 ? grouped(static_cast<std::uint64_t>(value)) : std::to_string(value));
  }
  if (finding.deep_only) row("seen", "in deep steps only: the counts are of those");
}

void write_explanation(Html& html, const rules::Finding& finding) {
  const rules::Rule* const rule = rules::find_rule(finding.rule);
  if (rule == nullptr || rule->explanation.what.empty()) return;
  const auto details = html.element("details");
  html.leaf("summary", "Why it matters");
  const auto inside = html.element("div");
  html.leaf("p", rule->explanation.what);
  html.leaf("p", rule->explanation.why);
}

void write_finding(Html& html, const Model& model, const rules::Finding& finding) {
  const auto article = html.element("article", {{"class", "finding " + finding.severity}});
  {
    const auto head = html.element("div", {{"class", "head"}});
    html.leaf("span", finding.severity, {{"class", "severity"}});
    html.leaf("h3", finding.rule);
    html.leaf("code", place(model.run, finding.location));
    if (finding.location && !finding.location->function.empty()) {
      html.leaf("span", "in " + finding.location->function, {{"class", "soft wrap"}});
    }
    if (const std::string_view harm = rules::words(rules::harm_of(finding)); !harm.empty())
      html.leaf("span", std::string(harm), {{"class", "soft"}});
  }
  html.leaf("p", finding.title + ".");
  if (finding.location) write_source(html, model, *finding.location);
  for (const store::CodeLocation& at : finding.related) {
    {
      const auto line = html.element("p", {{"class", "soft"}});
      html.text("see also ");
      html.leaf("code", place(model.run, at));
    }
    write_source(html, model, at);
  }
  {
    const auto line = html.element("p");
    html.leaf("strong", "Fix: ");
    html.text(finding.fix);
  }
  if (const std::string saved = savings_text(finding.savings, model.steps); !saved.empty()) {
    const auto line = html.element("p");
    html.leaf("strong", "Saves: ");
    html.text(saved);
  }
  {
    const auto details = html.element("details");
    html.leaf("summary", "Evidence");
    const auto inside = html.element("div");
    write_evidence(html, finding);
  }
  write_explanation(html, finding);
}

std::string nothing_found(const Model& model) {
  if (const std::string failure = failure_text(model); !failure.empty())
    return "The rules found nothing wrong in what was seen, but " + failure +
           ": what it did not come to is not judged.";
  if (model.run.damage) return "The rules found nothing wrong in what can be read of the run file.";
  return model.complete() ? "The rules found nothing wrong." : "The rules found nothing wrong in what was seen.";
}

}  // namespace

void write_findings(Html& html, const Model& model) {
  html.leaf("h2", model.findings.empty() ? "Findings" : counted(model.findings.size(), "finding", "findings"));
  if (!model.judged()) {
    html.leaf("p", "Findings cannot be determined from what is left of the run file.");
  } else if (model.findings.empty()) {
    html.leaf("p", nothing_found(model));
  }
  const std::size_t shown = std::min(model.findings.size(), kFindings);
  for (std::size_t i = 0; i < shown; ++i) write_finding(html, model, model.findings[i]);
  if (model.findings.size() > shown) {
    html.leaf("p", counted(model.findings.size() - shown, "more is", "more are") + " in the JSON report.");
  }
  if (const std::string ignored = ignored_text(model); !ignored.empty())
    html.leaf("p", ignored + ".", {{"class", "soft"}});
  if (model.judged())
    for (const std::string& sentence : unjudged_sentences(model.rules))
      html.leaf("p", sentence + ".", {{"class", "soft"}});
}

}  // namespace castscope::report
