#include "server/report/findings/explain.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "server/report/text/document.h"
#include "server/report/text/lines.h"
#include "server/rules/rules.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

// Paragraphs are wrapped; lines of a list or of code stay as they are.
std::string section(std::string_view title, std::string_view text, int width) {
  if (text.empty()) return "";
  std::string all = "\n" + std::string(title) + "\n";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    all += line.empty() ? "\n" : wrapped("  ", line.starts_with("- ") ? "    " : "  ", line, width);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

std::string code(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) all += "    " + std::string(text.substr(0, end));
    all += "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

std::string thresholds_text(const rules::Rule& rule, int width) {
  if (rule.thresholds.empty()) return "";
  std::string all = "\nThresholds (\"thresholds\" in castscope.json)\n";
  for (const rules::Threshold& threshold : rule.thresholds) {
    all += wrapped(
        "  ", "      ",
        std::string(threshold.name) + " = " + number(threshold.value) + ": " + std::string(threshold.meaning), width);
  }
  return all;
}

Json thresholds_json(const rules::Rule& rule) {
  Json list = Json::array();
  for (const rules::Threshold& threshold : rule.thresholds) {
    list.push_back(
        {{"threshold", threshold.name}, {"default_value", threshold.value}, {"threshold_meaning", threshold.meaning}});
  }
  return list;
}

Json links_json(std::string_view lines) {
  Json links = Json::array();
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    if (end > 0) links.push_back(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return links;
}

Json rule_json(const rules::Rule& rule) {
  const rules::Explanation& words = rule.explanation;
  return {{"rule", rule.name},
          {"severity", rule.severity},
          {"harm", rules::name(rule.harm)},
          {"rule_group", group_of(rule)},
          {"summary", rule.summary},
          {"thresholds", thresholds_json(rule)},
          {"what_happens", words.what},
          {"why_it_matters", words.why},
          {"example", words.example},
          {"fix", words.fix},
          {"fixed_example", words.fixed_example.empty() ? Json(nullptr) : Json(words.fixed_example)},
          {"links", links_json(words.links)}};
}

std::vector<const rules::Rule*> by_group() {
  const auto all = rules::all_rules();
  std::vector<const rules::Rule*> rules(all.begin(), all.end());
  std::sort(rules.begin(), rules.end(), [](const rules::Rule* a, const rules::Rule* b) { return a->name < b->name; });
  return rules;
}

}  // namespace

std::string_view group_of(const rules::Rule& rule) { return rule.name.substr(0, rule.name.find('-')); }

std::string words_of_casts(int width) {
  struct Word {
    std::string_view word, meaning;
  };
  constexpr Word kWords[] = {
      {"cast", "a conversion of a tensor from one floating dtype to another"},
      {"cache hit", "autocast's cache served a copy of a weight that it had made before"},
      {"pass-through", "autocast handed an argument on as it came: it had the right dtype, or is never cast"},
      {"not cached", "the cache does not keep the copy, so that the next use casts again"},
      {"frozen weight", "a weight that does not require grad: the cache keeps no copy of it"},
      {"not a parameter itself",
       "a tensor that was computed from a parameter, or a view of one: the cache keeps no copy"},
      {"region", "a stretch of code with autocast on or off, such as `with torch.autocast(…)`"},
      {"stay", "the time from one entry of a region to its end; the end of the outermost one clears the cache"},
      {"step", "a training step, up to the last optimizer step before the next forward pass"},
      {"evaluation", "a forward pass that no backward pass and no optimizer follows"},
      {"in backward",
       "casts of gradients; each follows from a cast of the forward pass, and is listed with it where that is known"},
      {"in compiled graphs", "casts in code of torch.compile, which are counted and not timed"},
      {"promotion", "an operator was given two dtypes and converted to the wider one"},
      {"user_to", "the code itself asked for the conversion: .to(), .float(), .half()"},
      {"looked at", "castscope saw the operators of this code, in a deep step or because the code was new"},
  };
  std::string text = "Words of the summary\n";
  for (const Word& one : kWords) text += wrapped("  " + std::string(one.word) + ": ", "      ", one.meaning, width);
  return text + "\ndocs/glossary.md has more words.\n";
}

std::string explanation_text(const rules::Rule& rule, int width) {
  const rules::Explanation& words = rule.explanation;
  const std::string name(rule.name);
  const std::string harm(rules::words(rule.harm));
  std::string all = name + " (" + std::string(rule.severity) + (harm.empty() ? "" : ", " + harm) + ")\n" +
                    wrapped("  ", "  ", rule.summary, width);
  all += section("What happens", words.what, width) + section("Why it matters", words.why, width);
  if (!words.example.empty()) all += "\nExample\n" + code(words.example);
  all += section("Fix", words.fix, width);
  if (!words.fixed_example.empty()) all += "\nExample, fixed\n" + code(words.fixed_example);
  all += thresholds_text(rule, width) + section("Links", words.links, width);
  all += section("To silence it",
                 "On one line: a comment \"# castscope: ignore[" + name +
                     "]\". In files: \"per-path-ignores\" in castscope.json. "
                     "Everywhere: \"ignore\" there.",
                 width);
  return all;
}

Json explanation_json(const rules::Rule& rule) {
  return document(kRulesForm, {{"rules", Json::array({rule_json(rule)})}});
}

std::string rule_list_text(int width) {
  std::size_t widest = 0;
  for (const rules::Rule* rule : rules::all_rules()) widest = std::max(widest, rule->name.size());
  std::string all;
  std::string_view group;
  for (const rules::Rule* rule : by_group()) {
    if (group_of(*rule) != group && !group.empty()) all += "\n";
    group = group_of(*rule);
    const std::string name(rule->name), severity(rule->severity);
    const std::string begin = name + std::string(widest + 2 - name.size(), ' ') + severity +
                              std::string(severity.size() < 13 ? 13 - severity.size() : 1, ' ');
    // The text goes beside the name where there is room for some words, otherwise below it.
    if (begin.size() + 30 <= static_cast<std::size_t>(width)) {
      all += wrapped(begin, std::string(begin.size(), ' '), rule->summary, width);
    } else {
      all += name + "  " + severity + "\n" + wrapped("    ", "    ", rule->summary, width);
    }
  }
  return all;
}

Json rule_list_json() {
  Json list = Json::array();
  for (const rules::Rule* rule : by_group()) list.push_back(rule_json(*rule));
  return document(kRulesForm, {{"rules", std::move(list)}});
}

}  // namespace castscope::report
