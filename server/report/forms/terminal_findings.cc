#include "server/report/forms/terminal_findings.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "server/report/model/verdict.h"
#include "server/report/text/words.h"
#include "server/rules/rules.h"

namespace castscope::report {
namespace {

constexpr std::size_t kNamed = 5;  // findings that a brief summary names one by one

const char* colour_of(const rules::Finding& finding) {
  if (finding.severity == "error") return "31";
  return finding.severity == "warning" ? "33" : "34";
}

std::string places(const Model& model, const std::vector<store::CodeLocation>& all) {
  std::string list;
  for (const store::CodeLocation& at : all) list += (list.empty() ? "" : ", ") + place(model.run, at);
  return list;
}

// Leaves out the outermost folder of a path: "…/attention/rotary.py:11". Returns false where there is none.
bool shorten(std::string& at) {
  const std::size_t from = at.starts_with("…/") ? std::string_view("…/").size() : 1, slash = at.find('/', from);
  if (slash == std::string::npos) return false;
  at = "…" + at.substr(slash);
  return true;
}

// The paragraphs about a finding.
struct Told {
  std::string head;
  TerminalLines title, related, saves, fix;
};

Told told(const Model& model, const TerminalText& text, const rules::Finding& finding) {
  std::vector<store::CodeLocation> all_places = places_of(finding);
  Told all;
  std::string at = place(model.run, first_place_of(finding)), harm(rules::words(rules::harm_of(finding)));
  const auto head = [&] {
    return std::vector<TerminalText::Head>{{"  "},
                                           {finding.severity, colour_of(finding)},
                                           {" " + finding.rule + "  "},
                                           {at, "36"},
                                           {harm.empty() ? "" : "  " + harm}};
  };
  while (!text.fits(head()) && shorten(at)) {
  }
  if (!text.fits(head())) harm.clear();
  all.head = text.one_line(head());
  all.title = text.paragraph({"    "}, "    ", finding.title + ".");
  if (all_places.size() > 1) {
    all_places.erase(all_places.begin());
    all.related = text.paragraph({"    "}, "    ", "see also " + places(model, all_places));
  }
  if (const std::string saved = savings_text(finding.savings, model.steps); !saved.empty())
    all.saves = text.paragraph({"    saves: "}, "           ", saved);
  all.fix = text.paragraph({"    fix: "}, "         ", finding.fix);
  return all;
}

void append(TerminalLines& to, const TerminalLines& lines) { to.insert(to.end(), lines.begin(), lines.end()); }

// Those that are named one by one, and those that one line tells of.
struct Parted {
  std::vector<std::size_t> named, folded;
  std::size_t beyond = 0;  // named in the full summary alone
};
Parted parted(const Model& model) {
  Parted parts;
  for (const std::size_t at : by_worth(model))
    (model.findings[at].severity == "info" ? parts.folded : parts.named).push_back(at);
  if (parts.named.size() > kNamed) parts.beyond = parts.named.size() - kNamed, parts.named.resize(kNamed);
  return parts;
}

std::string folded_text(const Model& model, const std::vector<std::size_t>& folded) {
  std::string text = "  info " + counted(folded.size(), "finding", "findings") + " worth knowing: ";
  for (std::size_t i = 0; i < folded.size(); ++i) {
    const rules::Finding& finding = model.findings[folded[i]];
    text += (i == 0 ? "" : ", ") + finding.rule + " " + place(model.run, first_place_of(finding));
  }
  return text;
}

// Gives out lines, first come first served.
class Room {
 public:
  explicit Room(std::size_t lines) : left_(lines) {}
  std::size_t left() const { return left_; }
  bool take(std::size_t lines) {
    if (lines > left_) return false;
    left_ -= lines;
    return true;
  }

 private:
  std::size_t left_;
};

struct Shown {
  Told told;
  std::size_t title_lines = 1, fix_lines = 0;
  bool saves = false, related = false;
  bool is_whole() const {
    return title_lines == told.title.size() && fix_lines == told.fix.size() && (saves || told.saves.empty()) &&
           (related || told.related.empty());
  }
};

// The begin of a fix is better than none, if it is more than a few words.
std::size_t lines_for_fix(std::size_t lines, Room& room) {
  constexpr std::size_t kLeast = 2;
  const std::size_t some = std::min(lines, room.left());
  return (some == lines || some >= kLeast) && room.take(some) ? some : 0;
}

// The titles come before the fixes, and the fixes before what is only good to know.
void share_out(std::vector<Shown>& all, Room& room) {
  for (Shown& one : all)
    if (room.take(one.told.title.size() - one.title_lines)) one.title_lines = one.told.title.size();
  for (Shown& one : all) one.saves = room.take(one.told.saves.size());
  for (Shown& one : all) one.fix_lines = lines_for_fix(one.told.fix.size(), room);
  for (Shown& one : all) one.related = room.take(one.told.related.size());
}

TerminalLines lines_of(const TerminalText& text, const Shown& one) {
  TerminalLines lines = {one.told.head};
  append(lines, text.beginning(one.told.title, one.title_lines));
  if (one.related) append(lines, one.told.related);
  if (one.saves) append(lines, one.told.saves);
  append(lines, text.beginning(one.told.fix, one.fix_lines));
  return lines;
}

// For each finding its place and a line of its title.
std::size_t least_lines(const Model& model) {
  const Parted parts = parted(model);
  return 2 * parts.named.size() + (parts.folded.empty() ? 0 : 1) + (ignored_text(model).empty() ? 0 : 1) + 1;
}

}  // namespace

TerminalLines all_findings(const Model& model, const TerminalText& text) {
  TerminalLines lines;
  for (const std::size_t at : by_worth(model)) {
    const Told one = told(model, text, model.findings[at]);
    lines.push_back(one.head);
    for (const TerminalLines* part : {&one.title, &one.related, &one.saves, &one.fix}) append(lines, *part);
  }
  if (const std::string ignored = ignored_text(model); !ignored.empty())
    append(lines, text.paragraph({"  "}, "  ", ignored));
  return lines;
}

std::size_t lines_to_first_fix(const Model& model, const TerminalText& text) {
  const Parted parts = parted(model);
  std::size_t lines = least_lines(model);
  for (std::size_t i = 0; i < parts.named.size(); ++i) {
    const Told one = told(model, text, model.findings[parts.named[i]]);
    lines += one.title.size() - 1 + one.saves.size() + (i == 0 ? one.fix.size() : 0);
  }
  return lines;
}

TerminalLines findings_within(const Model& model, const TerminalText& text, std::size_t lines,
                              const std::string& more) {
  const Parted parts = parted(model);
  const std::string ignored = ignored_text(model);
  if (model.findings.empty() && ignored.empty()) return {};
  std::vector<Shown> all;
  for (const std::size_t at : parts.named) all.emplace_back().told = told(model, text, model.findings[at]);
  const std::size_t least = least_lines(model);
  for (std::size_t i = all.size(), lacking = least - std::min(lines, least); i > 0 && lacking > 0; --i, --lacking)
    all[i - 1].title_lines = 0;
  Room room(lines - std::min(lines, least));
  share_out(all, room);
  TerminalLines shown;
  bool whole = parts.beyond == 0 && parts.folded.empty();
  for (const Shown& one : all) {
    append(shown, lines_of(text, one));
    whole &= one.is_whole();
  }
  if (!parts.folded.empty()) shown.push_back(text.one_line({{folded_text(model, parts.folded)}}));
  if (!ignored.empty()) append(shown, text.beginning(text.paragraph({"  "}, "  ", ignored), 1));
  const std::string beyond = parts.beyond == 0 ? "" : "and " + grouped(parts.beyond) + " more; ";
  // It is not cut, so that it can be copied.
  if (!whole) shown.push_back("  " + beyond + "all of it: " + on_one_line(more));
  return shown;
}

}  // namespace castscope::report
