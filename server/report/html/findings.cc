#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "server/report/html/excerpts.h"
#include "server/report/html/page_text.h"
#include "server/report/html/parts.h"
#include "server/report/html/table.h"
#include "server/report/model/unjudged.h"
#include "server/report/model/verdict.h"
#include "server/report/text/breakable.h"
#include "server/report/text/words.h"
#include "server/rules/rules.h"

namespace castscope::report {
namespace {

// A page with a card for each of thousands of findings is read by nobody.
constexpr std::size_t kCards = 20, kCardsOfARule = 5;
constexpr std::size_t kPlaces = 8;  // further ones of a finding

void write_evidence(Html& html, const rules::Finding& finding) {
  const auto table = html.element("table", {{"class", "evidence"}});
  const auto row = [&](std::string name, const std::string& value) {
    std::replace(name.begin(), name.end(), '_', ' ');
    const auto line = html.element("tr");
    html.leaf("th", name, {{"scope", "row"}});
    const auto cell = html.element("td");
    write_breakable(html, value);
  };
  for (const auto& [name, value] : finding.evidence_text)
    row(name, name == "why_not_cached" ? reasons_in_words(value) : value);
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
  for (const auto& text : {rule->explanation.what, rule->explanation.why}) {
    const auto line = html.element("p");
    write_with_code(html, text);
  }
}

void write_further_places(Html& html, const store::RunData& run, const std::vector<Excerpt>& excerpts) {
  if (excerpts.size() < 2) return;
  const auto details = html.element("details");
  html.leaf("summary", counted(excerpts.size() - 1, "further place", "further places"));
  const auto inside = html.element("div");
  const std::size_t shown = std::min(excerpts.size(), kPlaces + 1);
  for (std::size_t i = 1; i < shown; ++i) {
    {
      const auto line = html.element("p");
      const auto code = html.element("code");
      write_breakable(html, excerpts[i].places);
    }
    write_excerpt(html, run, excerpts[i]);
  }
  write_rest(html, excerpts.size(), shown, "JSON");
}

void write_head_of_card(Html& html, const Model& model, const ShownFinding& shown, const std::string& id) {
  const rules::Finding& finding = *shown.finding;
  const auto head = html.element("div", {{"class", "head"}});
  html.leaf("a", absl::StrCat("#", shown.number),
            {{"href", "#" + id}, {"class", "anchor"}, {"title", "Link to this finding"}});
  html.leaf("span", finding.severity, {{"class", "severity"}});
  html.leaf("h3", finding.rule, {{"id", id + "-name"}});
  const std::optional<store::CodeLocation> at = first_place_of(finding);
  {
    const auto code = html.element("code");
    write_breakable(html, place(model.run, at));
  }
  if (at && !at->function.empty()) {
    const auto within = html.element("span", {{"class", "soft wrap"}});
    write_breakable(html, "in " + at->function);
  }
  if (const std::string_view harm = rules::words(rules::harm_of(finding)); !harm.empty())
    html.leaf("span", std::string(harm), {{"class", "soft"}});
}

void write_named(Html& html, const char* name, std::string_view text) {
  const auto line = html.element("p");
  html.leaf("strong", name);
  html.text(" ");
  write_with_code(html, text);
}

// Writes the card of a finding: its line of source, the fix right below it, and the details folded.
void write_card(Html& html, const Model& model, const ShownFinding& shown) {
  const rules::Finding& finding = *shown.finding;
  const std::string id = absl::StrCat("finding-", shown.number);
  const auto article = html.element(
      "article", {{"class", "finding " + finding.severity}, {"id", id}, {"aria-labelledby", id + "-name"}});
  write_head_of_card(html, model, shown, id);
  {
    const auto line = html.element("p");
    write_with_code(html, finding.title + ".");
  }
  const std::vector<Excerpt> excerpts = excerpts_of(model.run, places_of(finding));
  if (!excerpts.empty()) write_excerpt(html, model.run, excerpts.front());
  write_named(html, "Fix:", finding.fix);
  if (const std::string saved = savings_text(finding.savings, model.steps); !saved.empty())
    write_named(html, "Saves:", saved);
  write_further_places(html, model.run, excerpts);
  {
    const auto details = html.element("details");
    html.leaf("summary", "Evidence");
    const auto inside = html.element("div");
    write_evidence(html, finding);
  }
  write_explanation(html, finding);
}

// Lists what has no card. How many there are of each rule is told of all findings.
void write_others(Html& html, const Model& model, const std::vector<ShownFinding>& cards) {
  if (cards.size() == model.findings.size()) return;
  std::map<std::string_view, std::size_t> by_rule;
  for (const rules::Finding& finding : model.findings) ++by_rule[finding.rule];
  html.leaf("h3", "Findings without a card");
  {
    std::string text;
    for (const auto& [rule, count] : by_rule)
      absl::StrAppend(&text, text.empty() ? "" : ", ", std::string(rule), " × ", grouped(count));
    html.leaf("p", "All findings by rule: " + text + ".");
  }
  Table table("By what they are worth. A number is that of the finding among all.",
              {{"number", true}, {"rule"}, {"where"}, {"what"}, {"saves"}});
  const std::vector<std::size_t> order = by_worth(model);
  std::size_t card = 0;
  for (std::size_t i = 0; i < order.size() && !table.full(); ++i) {
    if (card < cards.size() && cards[card].number == i + 1) {
      ++card;
      continue;
    }
    const rules::Finding& finding = model.findings[order[i]];
    table.add({.cells = {grouped(i + 1), finding.rule, place(model.run, first_place_of(finding)), finding.title,
                         savings_text(finding.savings, model.steps)}});
  }
  table.write(html, model.findings.size() - cards.size(), "JSON");
}

bool anything_was_cast(const Model& model) {
  return std::ranges::any_of(model.sites, [](const SiteTotal& total) { return total.counts.casts > 0; });
}

std::string nothing_found(const Model& model) {
  const std::string failure = failure_text(model);
  const std::string but = failure.empty() ? "" : ", but " + failure + ": what it did not come to is not judged";
  if (model.run.damage) return "The rules found nothing wrong in what can be read of the run file" + but + ".";
  if (!model.observed) return "Not observed: there was nothing that rules could judge" + but + ".";
  const bool whole = model.complete() && failure.empty();
  if (!anything_was_cast(model))
    return whole ? "Nothing was cast: there were no casts to judge."
                 : "No casts were recorded that could be judged" + but + ".";
  if (whole) return "The rules found nothing wrong.";
  return "The rules found nothing wrong in what was seen" +
         (but.empty() ? ", but the run was cut short: what is missing is not judged" : but) + ".";
}

}  // namespace

std::vector<ShownFinding> shown_findings(const Model& model) {
  std::vector<ShownFinding> shown;
  std::map<std::string_view, std::size_t> of_rule;
  const bool all = model.findings.size() <= kCards;
  const std::vector<std::size_t> order = by_worth(model);
  for (std::size_t i = 0; i < order.size() && shown.size() < kCards; ++i) {
    const rules::Finding& finding = model.findings[order[i]];
    if (all || ++of_rule[finding.rule] <= kCardsOfARule) shown.push_back({.number = i + 1, .finding = &finding});
  }
  return shown;
}

void write_findings(Page& page, const Model& model) {
  const Section section(page, "findings",
                        model.findings.empty() ? "Findings" : counted(model.findings.size(), "finding", "findings"));
  Html& html = page.html;
  if (!model.judged()) {
    html.leaf("p", "Findings cannot be determined from what is left of the run file.");
  } else if (model.findings.empty()) {
    html.leaf("p", nothing_found(model));
  }
  const std::vector<ShownFinding> cards = shown_findings(model);
  for (const ShownFinding& shown : cards) write_card(html, model, shown);
  write_others(html, model, cards);
  if (const std::string ignored = ignored_text(model); !ignored.empty())
    html.leaf("p", ignored + ".", {{"class", "soft"}});
  if (model.judged())
    for (const std::string& sentence : unjudged_sentences(model.rules))
      html.leaf("p", sentence + ".", {{"class", "soft"}});
}

}  // namespace castscope::report
