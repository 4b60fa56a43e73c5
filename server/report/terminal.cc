#include "server/report/terminal.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "server/report/words.h"
#include "server/rules/finding.h"
#include "server/store/names.h"

namespace castscope::report {
namespace {

constexpr std::size_t kCostliest = 5;
constexpr std::size_t kFindings = 8;
constexpr std::size_t kEndsShown = 3;

// Characters, not bytes: paths and units are UTF-8.
std::size_t columns(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

class Page {
 public:
  Page(const Model& model, const TerminalOptions& options)
      : model_(model), data_(model.run), options_(options), width_(std::clamp(options.width, 20, 160)) {}

  std::string text() {
    headline();
    warnings();
    costliest();
    findings();
    files();
    return std::move(text_);
  }

 private:
  std::string styled(const char* code, const std::string& text) const {
    return options_.colour ? std::string("\033[") + code + "m" + text + "\033[0m" : text;
  }
  void line(const std::string& text) { text_ += text + "\n"; }
  // Breaks at spaces; lines after the first are indented as deep.
  void wrapped(const std::string& first_indent, const std::string& indent, const std::string& text) {
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
    const Totals& totals = model_.totals;
    const store::Counts& all = totals.autocast;
    std::string text = counted(all.casts, "cast", "casts") + ", " + counted(all.hits, "cache hit", "cache hits") +
                       ", " + counted(all.passes, "pass-through", "pass-throughs");
    if (all.casts + all.hits + all.passes + all.traced == 0) {
      const bool all_was_seen = model_.complete && data_.notices.empty();
      text = all_was_seen ? "autocast was never asked to cast anything" : "no casts were recorded";
    }
    if (all.traced > 0) text += ", " + grouped(all.traced) + " while tracing";
    if (all.casts > 0) {
      text += "; " + rules::readable_bytes(all.bytes) + " copied in " + duration(all.cpu_ns) + " of CPU time";
    }
    if (model_.steps > 1) text += "; " + counted(model_.steps, "step", "steps");
    if (data_.processes.size() > 1) text += "; " + counted(data_.processes.size(), "process", "processes");
    const std::string name = "castscope: ";
    wrapped(styled("1", name), "  ", text);
    const std::uint64_t others = [&] {
      std::uint64_t sum = 0;
      for (std::size_t cause = 0; cause < totals.by_cause.size(); ++cause) {
        if (cause != static_cast<std::size_t>(lanes::Cause::kAutocast)) sum += totals.by_cause[cause];
      }
      return sum;
    }();
    if (others > 0) {
      std::string list;
      for (std::size_t cause = 0; cause < totals.by_cause.size(); ++cause) {
        if (cause == static_cast<std::size_t>(lanes::Cause::kAutocast) || totals.by_cause[cause] == 0) continue;
        list += (list.empty() ? "" : ", ") + grouped(totals.by_cause[cause]) + " " +
                std::string(store::cause_names()[cause]);
      }
      wrapped("  ", "  ", "casts not made by autocast: " + list);
    }
    if (totals.cache.cache_peak_entries > 0) {
      wrapped("  ", "  ",
              "cache: at most " + counted(totals.cache.cache_peak_entries, "entry", "entries") + ", " +
                  rules::readable_bytes(totals.cache.cache_peak_bytes) + "; cleared " +
                  counted(totals.cache.cache_clears, "time", "times"));
    }
  }

  void warnings() {
    if (model_.totals.autocast.traced > 0) wrapped("  ", "  ", std::string(kTracedNotice) + ".");
    if (data_.end && !model_.complete) {
      std::vector<std::string> ends = unseen_ends(data_);
      if (ends.empty() && !data_.notices.empty()) ends.emplace_back("not all of the run was seen: its notices tell");
      if (ends.empty()) ends.emplace_back("the end of the run was not seen");
      const std::size_t shown = std::min(ends.size(), kEndsShown);
      for (std::size_t i = 0; i < shown; ++i) wrapped("  ", "  ", ends[i]);
      if (ends.size() > shown)
        wrapped("  ", "  ", "and " + counted(ends.size() - shown, "process", "processes") + " more");
      wrapped("  ", "  ", "What had been published until then is counted here.");
    }
    if (const std::uint64_t dropped = model_.totals.dropped_events; dropped > 0) {
      // What was not counted to the end is told by a notice of its own.
      const bool counted_all = data_.notices.empty() && std::none_of(data_.processes.begin(), data_.processes.end(),
                                                                     [](const store::Process& process) {
                                                                       return !process.attribute("stopped").empty();
                                                                     });
      wrapped("  ", "  ",
              counted(dropped, "event was", "events were") + " dropped: " +
                  (counted_all ? "totals are exact, some steps are incomplete." : "some steps are incomplete."));
    }
  }

  // Modules in a loop share their line: one entry for them, that names the first.
  struct Entry {
    SiteTotal first;
    store::Counts counts;
    std::uint64_t modules = 0;
    std::uint64_t first_ns = 0;  // of each site in each process
  };

  void costliest() {
    std::map<std::tuple<std::string, std::string, std::string, int, int, int>, Entry> entries;
    std::uint64_t all_ns = 0;
    for (const SiteTotal& total : model_.sites) {
      if (total.counts.casts == 0) continue;
      const store::Site& site = data_.site(total.site);
      Entry& entry = entries[{place(data_.user_location(site.stack)), site.op, argument_of(data_, site), site.from,
                              site.to, static_cast<int>(site.why)}];
      if (entry.modules++ == 0) entry.first = total;
      entry.counts += total.counts;
      for (const store::SiteUse* use : total.uses) entry.first_ns += use->evidence.first_ns;
      all_ns += total.counts.cpu_ns;
    }
    if (entries.empty()) return;
    std::vector<const Entry*> order;
    for (const auto& [key, entry] : entries) order.push_back(&entry);
    std::stable_sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
      return std::make_tuple(b->counts.cpu_ns, b->counts.casts) < std::make_tuple(a->counts.cpu_ns, a->counts.casts);
    });
    order.resize(std::min(order.size(), kCostliest));
    line("");
    line(styled("1", "costliest casts") + ", by share of the casts' CPU time");
    for (const Entry* entry : order) describe(*entry, all_ns);
  }

  void describe(const Entry& entry, std::uint64_t all_ns) {
    const store::Site& site = data_.site(entry.first.site);
    const unsigned percent = all_ns == 0 ? 0 : static_cast<unsigned>(100 * entry.counts.cpu_ns / all_ns);
    char share[8];
    std::snprintf(share, sizeof share, "%3u %%", percent);
    line("  " + std::string(share) + "  " + styled("36", place(data_.user_location(site.stack))));
    std::string what = operator_of(site);
    if (const std::string which = argument_of(data_, site); !which.empty()) what += " " + which;
    if (site.module != 0 && !data_.modules[site.module - 1].path.empty()) {
      const store::Module& module = data_.modules[site.module - 1];
      what += " of " + module.path + (module.root_number > 1 ? " in " + module.model() : "");
      if (entry.modules > 1) what += " and " + grouped(entry.modules - 1) + " more";
    }
    what += ", " + std::string(store::dtype_name(site.from)) + " to " + std::string(store::dtype_name(site.to)) + ": " +
            counted(entry.counts.casts, "cast", "casts");
    if (entry.counts.hits > 0) what += ", " + counted(entry.counts.hits, "cache hit", "cache hits");
    what += ", " + duration(entry.counts.cpu_ns);
    // In a short run the first call is most of it: it pays for page faults and the start of threads.
    if (entry.counts.casts > 1 && 2 * entry.first_ns > entry.counts.cpu_ns) {
      what += " (" + duration(entry.first_ns) + (entry.modules > 1 ? " of it the first of each)" : " of it the first)");
    }
    const bool could_be_kept = site.role == lanes::Role::kWeight || site.role == lanes::Role::kBuffer;
    if (could_be_kept && site.why != lanes::WhyNotCached::kNone && site.why != lanes::WhyNotCached::kNotAutocast) {
      what += ", not kept: " + std::string(store::name(site.why));
    }
    wrapped("         ", "         ", what);
  }

  void findings() {
    const std::vector<rules::Finding>& all = model_.findings;
    if (all.empty() && model_.silenced.empty()) return;
    line("");
    line(styled("1", "findings"));
    for (std::size_t i = 0; i < std::min(all.size(), kFindings); ++i) {
      const rules::Finding& finding = all[i];
      const char* const colour = finding.severity == "error" ? "31" : finding.severity == "warning" ? "33" : "34";
      line("  " + styled(colour, finding.severity) + " " + finding.rule + "  " + styled("36", place(finding.location)));
      wrapped("    ", "    ", finding.title + ".");
      if (!finding.related.empty()) wrapped("    ", "    ", "see also " + places(finding.related));
      if (const std::string saved = savings_text(finding.savings); !saved.empty()) {
        wrapped("    saves: ", "           ", saved);
      }
      wrapped("    fix: ", "         ", finding.fix);
    }
    if (all.size() > kFindings) line("  and " + grouped(all.size() - kFindings) + " more in the report");
    if (const std::string text = ignored_text(model_); !text.empty()) wrapped("  ", "  ", text);
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
