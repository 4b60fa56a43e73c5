#include "server/report/forms/terminal.h"

#include <algorithm>
#include <numeric>

#include "server/report/forms/terminal_findings.h"
#include "server/report/forms/terminal_text.h"
#include "server/report/model/costliest.h"
#include "server/report/model/gpu.h"
#include "server/report/model/metrics.h"
#include "server/report/model/protected_arguments.h"
#include "server/report/model/spans.h"
#include "server/report/model/unjudged.h"
#include "server/report/model/verdict.h"
#include "server/report/text/lines.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/operators/enforced_policy.h"

namespace castscope::report {
namespace {

constexpr std::size_t kCostliest = 3;
constexpr std::size_t kMissingShown = 3;

// The end of a place that is longer than `most` characters: "…/train/heads.py:41".
std::string end_of_place(const std::string& place, std::size_t most) {
  if (place.size() <= most) return place;
  const std::size_t from = place.size() - most, folder = place.find('/', from);
  return folder == std::string::npos ? place : "…" + place.substr(folder);
}

class Page {
 public:
  Page(const Model& model, const TerminalOptions& options)
      : model_(model), data_(model.run), options_(options), text_(options.width, options.colour) {}

  std::string full() {
    verdict_lines();
    warnings();
    findings(all_findings(model_, text_));
    unjudged();
    costliest_casts(kCostliest, true);
    totals();
    details();
    what_enforcing_saves();
    files();
    return joined(lines_);
  }

  // The findings get what the others leave. If that is little, fewer casts are named, as far as the findings then say
  // more.
  std::string brief() {
    verdict_lines();
    warnings();
    if (model_.findings.empty()) unjudged();
    const TerminalLines before = std::move(lines_);
    const std::size_t to_first_fix = lines_to_first_fix(model_, text_);
    TerminalLines told, after;
    for (std::size_t casts = kCostliest; casts > 0; --casts) {
      TerminalLines rest = lines_after_findings(casts);
      const std::size_t taken = before.size() + rest.size() + 2;  // and a blank line with a heading
      const std::size_t room = kSummaryLines > taken ? kSummaryLines - taken : 0;
      const bool enough = room >= to_first_fix;
      TerminalLines found = findings_within(model_, text_, room, full_command());
      if (casts == kCostliest || enough || found.size() > told.size()) told = std::move(found), after = std::move(rest);
      if (enough) break;
    }
    lines_ = before;
    findings(told);
    add(after);
    return joined(lines_);
  }

 private:
  static std::string joined(const TerminalLines& lines) {
    return std::accumulate(lines.begin(), lines.end(), std::string(),
                           [](std::string all, const std::string& line) { return std::move(all) + line + "\n"; });
  }
  void add(const TerminalLines& lines) { lines_.insert(lines_.end(), lines.begin(), lines.end()); }
  void write(const std::string& text) { add(text_.paragraph({"  "}, "  ", text)); }
  // Writes a line in brief: it begins with its name, so that a tired reader finds it again.
  void write_named(const std::string& name, const std::string& what) {
    if (!what.empty()) add(text_.paragraph({"  " + name + ": "}, "    ", what));
  }
  std::string full_command() const {
    return "castscope report --summary=full" + (options_.run_argument.empty() ? "" : " " + options_.run_argument);
  }

  void verdict_lines() { add(text_.paragraph({"castscope: ", "1"}, "  ", verdict(model_, costs_))); }

  void warnings() {
    if (const std::string failure = failure_sentence(model_); !failure.empty()) write(failure);
    for (const std::string& sentence : changed_sources(data_)) write(sentence + ".");
    if (const std::string partly = partly_watched(data_); !partly.empty()) write(partly + ".");
    for (const std::string& hint : model_.hints) write(hint + ".");
    if (traced_without_graph(data_)) write(std::string(kTracedNotice) + ".");
    if (data_.weakly_checked) write(std::string(kWeaklyCheckedNotice) + ".");
    if (data_.damage) write(data_.damage->sentence + ".");
    if (data_.end && !model_.complete() && !data_.damage) what_is_missing();
    if (model_.totals.dropped_events > 0) dropped_events();
  }

  void what_is_missing() {
    const std::vector<store::Incomplete>& missing = model_.missing;
    const std::size_t shown = std::min(missing.size(), kMissingShown);
    for (std::size_t i = 0; i < shown; ++i) write(missing[i].sentence);
    if (missing.size() > shown) write("and " + grouped(missing.size() - shown) + " more like that");
    write("Only what had been recorded by then is counted here.");
  }

  void dropped_events() {
    // Where something was not counted to the end, a notice of its own says so.
    const bool counted_all = data_.notices.empty() &&
                             std::none_of(data_.processes.begin(), data_.processes.end(),
                                          [](const auto& process) { return !process.attribute("stopped").empty(); });
    write(counted(model_.totals.dropped_events, "event was", "events were") +
          " dropped: " + (counted_all ? "totals are exact, some steps are incomplete." : "some steps are incomplete."));
  }

  void findings(const TerminalLines& lines) {
    if (lines.empty()) return;
    lines_.emplace_back();
    lines_.push_back(text_.styled("1", "findings"));
    add(lines);
  }

  // Where nothing was cast, the verdict has said what there is to say.
  void unjudged() {
    if (model_.sites.empty() || !model_.judged()) return;
    for (const std::string& sentence : unjudged_sentences(model_.rules))
      add(text_.paragraph({"  "}, "    ", sentence + "."));
  }

  void costliest_casts(std::size_t most, bool with_counts) {
    if (costs_.all.empty()) return;
    lines_.emplace_back();
    add(text_.beginning(text_.paragraph({"costliest casts", "1"}, "  ", ", by share of " + what_shares_are_of(costs_)),
                        with_counts ? SIZE_MAX : 1));
    for (std::size_t i = 0; i < std::min(costs_.all.size(), most); ++i) {
      const Cost& cost = costs_.all[i];
      const std::string share = percent(cost.share), whole = place_of(model_, cost);
      const std::string indent = "  " + std::string(5 - std::min<std::size_t>(share.size(), 5), ' ') + share + "  ";
      const std::string what = with_counts ? "" : "  " + brief_description(model_, cost);
      const auto width = static_cast<std::size_t>(options_.width);
      const std::size_t room = width - std::min(width, columns(indent) + columns(what));
      const std::string at = with_counts ? whole : end_of_place(whole, std::max(room, width / 3));
      lines_.push_back(text_.one_line({{indent}, {at, "36"}, {what}}));
      if (with_counts) add(text_.paragraph({"         "}, "         ", description(model_, cost)));
    }
  }

  void totals() {
    if (model_.sites.empty() && data_.operator_uses.empty() && data_.metrics.empty()) return;
    lines_.emplace_back();
    add(text_.paragraph({"totals", "1"}, "  ", ": " + totals_line(model_)));
    if (const std::string others = other_causes(model_); !others.empty())
      write("casts not made by autocast: " + others);
    if (const std::string policy = rules::enforced_policy(data_); !policy.empty())
      write("by the policy " + policy + ", which castscope enforced");
    if (const std::string metrics = options_.full ? metrics_line(model_, SIZE_MAX) : metrics_line(model_);
        !metrics.empty()) {
      if (options_.full) {
        add(text_.paragraph({"  "}, "    ", metrics));
      } else {
        lines_.push_back(text_.one_line({{"  " + metrics}}));
      }
    }
  }

  TerminalLines lines_after_findings(std::size_t casts) {
    lines_.clear();
    costliest_casts(casts, false);
    totals();
    what_enforcing_saves();
    files();
    return std::move(lines_);
  }

  void details() {
    write_named("cast", roles_line(model_.roles));
    write_named("not cached", not_kept_line(model_.roles));
    write_named("cache", cache_line(model_));
    if (model_.input) write_named("the model's input", input_line(data_, *model_.input));
    if (const std::string computed = computed_line(data_, model_.layers); !computed.empty())
      write_named("computed", computed + " (" + looked_at_text(model_.layers, model_.looked_at) + " looked at)");
    for (const std::string& line : gpu_lines(model_)) write(line);
    for (const std::string& line : protected_lines(data_)) write(line);
  }

  void what_enforcing_saves() {
    if (const std::string text = enforcing_text(model_); !text.empty()) write(text + ".");
  }

  void files() {
    if (options_.report_file.empty() && options_.run_file.empty()) return;
    lines_.emplace_back();
    if (!options_.report_file.empty()) lines_.push_back("report:   " + on_one_line(options_.report_file));
    if (!options_.run_file.empty()) lines_.push_back("run file: " + on_one_line(options_.run_file));
  }

  const Model& model_;
  const store::RunData& data_;
  const TerminalOptions& options_;
  const TerminalText text_;
  const Costs costs_ = costliest(model_);
  TerminalLines lines_;
};

}  // namespace

std::string summary(const Model& model, const TerminalOptions& options) {
  Page page(model, options);
  return options.full ? page.full() : page.brief();
}
std::string summary(const store::RunData& data, const TerminalOptions& options) {
  return summary(model_of(data), options);
}

}  // namespace castscope::report
