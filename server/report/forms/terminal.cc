#include "server/report/forms/terminal.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "server/report/model/costliest.h"
#include "server/report/model/gpu.h"
#include "server/report/model/protected_arguments.h"
#include "server/report/model/unjudged.h"
#include "server/report/text/lines.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/enforced_policy.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

constexpr std::size_t kCostliest = 3;
constexpr std::size_t kTerminalFindings = 8;
constexpr std::size_t kMissingShown = 3;

class Page {
 public:
  Page(const Model& model, const TerminalOptions& options)
      : model_(model), data_(model.run), options_(options), width_(std::clamp(options.width, 20, 160)) {}

  std::string text() {
    headline();
    warnings();
    costliest_casts();
    findings();
    what_enforcing_saves();
    files();
    return std::move(text_);
  }

 private:
  std::string styled(const char* code, const std::string& text) const {
    return options_.colour ? std::string("\033[") + code + "m" + text + "\033[0m" : text;
  }
  void line(const std::string& text) { text_ += text + "\n"; }
  // The names of files, modules and operators may hold anything, and a terminal obeys control characters, the C1
  // controls included, which are 0xc2 and a byte below 0xa0 in UTF-8.
  static std::string on_one_line(std::string text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      const bool is_c1 = i > 0 && c >= 0x80 && c < 0xa0 && text[i - 1] == '\xc2';
      if (c < ' ' || c == 0x7f || is_c1) text[i] = '?';
      if (is_c1) text[i - 1] = '?';
    }
    return text;
  }

  // Breaks lines at spaces; lines after the first get `indent`.
  void wrapped(const std::string& first_indent, const std::string& indent, const std::string& content) {
    const std::string text = on_one_line(content);
    std::string current = first_indent;
    bool empty = true;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::string word = text.substr(at, end - at);
      if (!empty && columns(current) + 1 + columns(word) > static_cast<std::size_t>(width_)) {
        line(current);
        current = indent;
        empty = true;
      }
      current += (empty ? "" : " ") + word;
      empty = false;
      at = end + 1;
    }
    line(current);
  }

  std::string place(const std::optional<store::CodeLocation>& at) const { return report::place(data_, at); }

  void headline() {
    const std::string name = "castscope: ";
    wrapped(styled("1", name), "  ", totals_line(model_));
    if (const std::string others = other_causes(model_); !others.empty()) {
      wrapped("  ", "  ", "casts not made by autocast: " + others);
    }
    write_named("cast", roles_line(model_.roles));
    write_named("not cached", not_kept_line(model_.roles));
    write_named("cache", cache_line(model_));
    if (model_.input) write_named("the model's input", input_line(data_, *model_.input));
    if (const std::string computed = computed_line(data_, model_.layers); !computed.empty())
      write_named("computed", computed + " (" + looked_at_text(model_.layers, model_.looked_at) + " looked at)");
    for (const std::string& line : gpu_lines(model_)) wrapped("  ", "  ", line);
    for (const std::string& line : protected_lines(data_)) wrapped("  ", "  ", line);
    if (const std::string policy = rules::enforced_policy(data_); !policy.empty())
      wrapped("  ", "  ", "by the policy " + on_one_line(policy) + ", which castscope enforced");
  }

  // Writes a line in brief: it begins with its name, so that a tired reader finds it again.
  void write_named(const std::string& name, const std::string& what) {
    if (!what.empty()) wrapped("  " + name + ": ", "    ", what);
  }

  void warnings() {
    if (const std::string failure = failure_text(model_); !failure.empty()) wrapped("  ", "  ", failure + ".");
    for (const std::string& sentence : changed_sources(data_)) wrapped("  ", "  ", sentence + ".");
    for (const std::string& hint : model_.hints) wrapped("  ", "  ", on_one_line(hint) + ".");
    if (traced_without_graph(data_)) wrapped("  ", "  ", std::string(kTracedNotice) + ".");
    if (data_.damage) wrapped("  ", "  ", data_.damage->sentence + ".");
    if (data_.end && !model_.complete() && !data_.damage) {
      const std::vector<store::Incomplete>& missing = model_.missing;
      const std::size_t shown = std::min(missing.size(), kMissingShown);
      for (std::size_t i = 0; i < shown; ++i) wrapped("  ", "  ", on_one_line(missing[i].sentence));
      if (missing.size() > shown) wrapped("  ", "  ", "and " + grouped(missing.size() - shown) + " more like that");
      wrapped("  ", "  ", "Only what had been recorded by then is counted here.");
    }
    if (const std::uint64_t dropped = model_.totals.dropped_events; dropped > 0) {
      // Where something was not counted to the end, a notice of its own says so.
      const bool counted_all = data_.notices.empty() && std::none_of(data_.processes.begin(), data_.processes.end(),
                                                                     [](const store::Process& process) {
                                                                       return !process.attribute("stopped").empty();
                                                                     });
      wrapped("  ", "  ",
              counted(dropped, "event was", "events were") + " dropped: " +
                  (counted_all ? "totals are exact, some steps are incomplete." : "some steps are incomplete."));
    }
  }

  void costliest_casts() {
    const Costs costs = costliest(model_);
    if (costs.all.empty()) return;
    line("");
    wrapped(styled("1", "costliest casts") + ", ", "  ", "by share of " + what_shares_are_of(costs));
    for (std::size_t i = 0; i < std::min(costs.all.size(), kCostliest); ++i) {
      const std::string share = percent(costs.all[i].share);
      line("  " + std::string(5 - std::min<std::size_t>(share.size(), 5), ' ') + share + "  " +
           styled("36", place(costs.all[i].at)));
      wrapped("         ", "         ", description(model_, costs.all[i]));
    }
  }

  void findings() {
    const std::vector<rules::Finding>& all = model_.findings;
    if (all.empty() && model_.silenced.empty()) return unjudged();
    line("");
    line(styled("1", "findings"));
    for (std::size_t i = 0; i < std::min(all.size(), kTerminalFindings); ++i) {
      const rules::Finding& finding = all[i];
      const char* const colour = finding.severity == "error" ? "31" : finding.severity == "warning" ? "33" : "34";
      line("  " + styled(colour, finding.severity) + " " + finding.rule + "  " + styled("36", place(finding.location)));
      wrapped("    ", "    ", finding.title + ".");
      if (!finding.related.empty()) wrapped("    ", "    ", "see also " + places(finding.related));
      if (const std::string saved = savings_text(finding.savings, model_.steps); !saved.empty()) {
        wrapped("    saves: ", "           ", saved);
      }
      wrapped("    fix: ", "         ", finding.fix);
    }
    if (all.size() > kTerminalFindings)
      line("  and " + grouped(all.size() - kTerminalFindings) + " more in the report");
    if (const std::string text = ignored_text(model_); !text.empty()) wrapped("  ", "  ", text);
    unjudged();
  }

  // Where nothing was cast, the headline has said what there is to say.
  void unjudged() {
    if (model_.sites.empty() || !model_.judged()) return;
    for (const std::string& sentence : unjudged_sentences(model_.rules)) wrapped("  ", "    ", sentence + ".");
  }

  void what_enforcing_saves() {
    const std::string text = enforcing_text(model_);
    if (text.empty()) return;
    line("");
    wrapped("", "", text + ".");
  }

  std::string places(const std::vector<store::CodeLocation>& all) const {
    std::string list;
    for (const store::CodeLocation& at : all) list += (list.empty() ? "" : ", ") + place(at);
    return list;
  }

  void files() {
    if (options_.report_file.empty() && options_.run_file.empty()) return;
    line("");
    if (!options_.report_file.empty()) line("report:   " + on_one_line(options_.report_file));
    if (!options_.run_file.empty()) line("run file: " + on_one_line(options_.run_file));
  }

  const Model& model_;
  const store::RunData& data_;
  const TerminalOptions& options_;
  const int width_;
  std::string text_;
};

}  // namespace

std::string summary(const Model& model, const TerminalOptions& options) { return Page(model, options).text(); }
std::string summary(const store::RunData& data, const TerminalOptions& options) {
  return summary(model_of(data), options);
}

}  // namespace castscope::report
