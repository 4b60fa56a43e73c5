// Writes what a reader sees without scrolling: the troubles of the run itself, the verdict, and the totals.
#include <algorithm>
#include <cctype>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "server/report/html/page_text.h"
#include "server/report/html/parts.h"
#include "server/report/html/table.h"
#include "server/report/model/costliest.h"
#include "server/report/model/metrics.h"
#include "server/report/model/verdict.h"
#include "server/report/text/breakable.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/finding.h"
#include "server/store/run/causes.h"

namespace castscope::report {
namespace {

constexpr std::size_t kMetrics = 100;
constexpr std::size_t kNoticesOpen = 4, kNotices = 50;

bool was_cut_short(const Model& model) { return !model.complete() || model.run.damage; }

// Gives a notice the form of a sentence.
std::string as_sentence(std::string text) {
  if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  if (!text.ends_with('.')) text += '.';
  return text;
}

void write_line(Html& html, const std::string& text) {
  const auto line = html.element("p");
  write_breakable(html, text);
}

void write_alerts(Html& html, const Model& model) {
  const std::string failure = failure_sentence(model);
  std::vector<std::string> sentences;
  if (!failure.empty()) sentences.push_back(failure);
  if (was_cut_short(model) && !model.run.damage)
    sentences.emplace_back("This run is incomplete: only what had been recorded by then is counted here.");
  std::ranges::transform(model.notices, std::back_inserter(sentences), as_sentence);
  if (sentences.empty()) return;
  const bool is_bad = !failure.empty() || model.run.damage;
  const auto box = html.element("div", {{"class", is_bad ? "alert bad" : "alert"}});
  const std::size_t told = std::min(sentences.size(), kNotices);
  const std::size_t open = told <= kNoticesOpen + 1 ? told : kNoticesOpen;
  for (std::size_t i = 0; i < open; ++i) write_line(html, sentences[i]);
  if (told > open) {
    const auto details = html.element("details");
    html.leaf("summary", counted(sentences.size() - open, "more notice", "more notices"));
    for (std::size_t i = open; i < told; ++i) write_line(html, sentences[i]);
  }
  write_rest(html, sentences.size(), told, "JSON");
}

void write_verdict(Html& html, const Model& model) {
  const auto line = html.element("p", {{"class", "verdict"}});
  write_breakable(html, as_sentence(verdict(model, costliest(model))));
}

// A number that is 0 tells something only where something was cast.
void write_totals(Html& html, const Model& model) {
  html.leaf("h2", "Totals");
  const store::Counts& all = model.totals.autocast;
  const bool cast = all.casts + all.hits + all.passes + all.traced + model.totals.compiled.casts > 0;
  const auto list = html.element("dl", {{"class", "cards"}});
  const auto card = [&](const char* name, const std::string& value) {
    const auto box = html.element("div");
    html.leaf("dt", name);
    html.leaf("dd", value);
  };
  card("casts by autocast", grouped(all.casts));
  if (all.casts > 0) {
    card("CPU time of these", time_of_casts(all));
    card("copied by these", rules::readable_bytes(all.bytes));
  }
  if (all.traced > 0) card("while tracing", grouped(all.traced));
  if (cast) {
    card("cache hits", grouped(all.hits));
    card("pass-throughs", grouped(all.passes));
    card("cache at most", rules::readable_bytes(model.totals.cache.cache_peak_bytes));
  }
  if (model.totals.compiled.casts > 0) card("in compiled graphs", grouped(model.totals.compiled.casts) + ", not timed");
  if (model.totals.others.casts > 0) card("other casts", grouped(model.totals.others.casts));
  if (cast || model.steps > 1) card("steps", grouped(model.steps));
  if (model.evaluations > 0) card("evaluations", grouped(model.evaluations));
  card("processes", grouped(model.run.processes.size()));
  if (model.totals.dropped_events > 0) card("events dropped", grouped(model.totals.dropped_events));
}

// "400 backward, 60 explicit to(); 2.0 GB copied in 301.2 ms of CPU time"
std::string not_by_autocast(const Model& model) {
  const auto& by_cause = model.totals.by_cause;
  std::vector<std::size_t> causes;
  for (std::size_t cause = 0; cause < by_cause.size(); ++cause) {
    const auto which = static_cast<lanes::Cause>(cause);
    if (by_cause[cause].casts > 0 && !store::is_autocasts(which) && which != lanes::Cause::kCompiled)
      causes.push_back(cause);
  }
  std::ranges::stable_sort(causes, std::greater(), [&](std::size_t cause) { return by_cause[cause].casts; });
  std::string list;
  for (const std::size_t cause : causes)
    absl::StrAppend(&list, list.empty() ? "" : ", ", grouped(by_cause[cause].casts), " ",
                    std::string(cause_words(static_cast<lanes::Cause>(cause))));
  if (list.empty()) return list;
  const store::Counts& all = model.totals.others;
  return absl::StrCat(list, "; ", rules::readable_bytes(all.bytes), " copied, ",
                      all.cpu_ns > 0 ? duration(all.cpu_ns) + " of CPU time" : time_of_casts(all));
}

// Writes the same lines as the summary.
void write_in_brief(Html& html, const Model& model) {
  const auto write_named = [&](const char* name, const std::string& what) {
    if (what.empty()) return;
    const auto line = html.element("p");
    html.leaf("strong", name);
    html.text(" ");
    write_breakable(html, what);
  };
  write_named("Cast:", roles_line(model.roles));
  write_named("Not cached:", not_kept_line(model.roles));
  write_named("Not by autocast:", not_by_autocast(model));
  if (model.input) write_named("The model's input:", input_line(model.run, *model.input));
  if (const std::string computed = computed_line(model.run, model.layers); !computed.empty())
    write_named("Computed:", computed + " (" + looked_at_text(model.layers, model.looked_at) + " looked at)");
  write_named("Numbers of the steps:", metrics_line(model, kMetrics));
}

}  // namespace

void write_first_screen(Html& html, const Model& model) {
  write_alerts(html, model);
  write_verdict(html, model);
  const auto section = html.element("section", {{"id", "totals"}});
  write_totals(html, model);
  write_in_brief(html, model);
}

}  // namespace castscope::report
