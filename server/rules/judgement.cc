#include "server/rules/judgement.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "server/rules/inquiry/policy_in_force.h"
#include "server/rules/rules.h"
#include "server/rules/suggest.h"
#include "server/rules/unmet_policy.h"

namespace castscope::rules {
namespace {

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

bool consume(std::string_view& text, std::string_view word) {
  text = without_blanks(text);
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// Returns the position behind the quotes that end the string beginning here. If the string does not end on this line,
// the quotes are passed over alone: they may be the end of a string that began on an earlier line.
std::size_t behind_string(std::string_view line, std::size_t at) {
  const std::size_t width = line.substr(at).starts_with(std::string(3, line[at])) ? 3 : 1;
  const std::string_view quotes = line.substr(at, width);
  for (std::size_t i = at + width; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line.substr(i).starts_with(quotes)) {
      return i + width;
    }
  }
  return at + width;
}

// Returns the comment from its # on; "" = none.
std::string_view comment_of(std::string_view line) {
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '#') return line.substr(at);
    at = line[at] == '\'' || line[at] == '"' ? behind_string(line, at) : at + 1;
  }
  return "";
}

struct Directive {
  std::size_t begin = 0;  // of its # in the comment
  std::string_view text;  // behind "castscope:", to the comment's end
};

std::vector<Directive> directives(std::string_view comment) {
  std::vector<Directive> all;
  for (std::size_t at = comment.find('#'); at != std::string_view::npos; at = comment.find('#', at + 1)) {
    std::string_view text = comment.substr(at + 1);
    if (consume(text, "castscope") && consume(text, ":")) all.push_back({at, without_blanks(text)});
  }
  return all;
}

bool is_any_rule(std::string_view pattern) {
  const auto rules = all_rules();
  return std::any_of(rules.begin(), rules.end(), [&](const Rule* rule) { return names_rule(pattern, rule->name); });
}

bool begins_word(std::string_view text) {
  return !text.empty() && (std::isalnum(static_cast<unsigned char>(text[0])) || text[0] == '_' || text[0] == '-');
}

// Recognises "-- because …" by its first word, which must not name a rule: people who write a rule's name mean that
// rule.
bool is_reason(std::string_view text) {
  if (!consume(text, "--")) return false;
  text = without_blanks(text);
  return !is_any_rule(text.substr(0, text.find_first_of(" \t,;:.)]}")));
}

// Returns the names in "ignore[a, b]", and all ("*") for "ignore", "ignore -- because …" and "ignore  # another
// comment". Returns nothing when the brackets hold no name, or when anything else follows, which may well be meant as a
// name ("ignore: a", "ignore a", "ignore(a)").
std::optional<std::vector<std::string_view>> names_in(std::string_view directive) {
  if (!consume(directive, "ignore")) return std::nullopt;
  const bool is_apart = directive.empty() || std::isspace(static_cast<unsigned char>(directive[0])) ||
                        directive[0] == '#' || directive[0] == '[';
  if (!is_apart) return std::nullopt;
  if (!consume(directive, "[")) {
    const bool is_all = directive.empty() || directive[0] == '#' || is_reason(directive);
    return is_all ? std::optional(std::vector<std::string_view>{"*"}) : std::nullopt;
  }
  std::vector<std::string_view> names;
  for (directive = directive.substr(0, directive.find(']')); !directive.empty();) {
    const std::size_t end = std::min(directive.find(','), directive.size());
    if (const std::string_view name = without_blanks(directive.substr(0, end)); !name.empty()) names.push_back(name);
    directive.remove_prefix(std::min(end + 1, directive.size()));
  }
  if (names.empty()) return std::nullopt;
  return names;
}

std::string silences_nothing(std::string_view said) {
  return "the comment \"" + std::string(said.substr(0, 70)) +
         "\" silences nothing: write # castscope: ignore, or # castscope: ignore[RULE]; a reason goes after --";
}

// Finds a text that looks like a directive and is none: another case, no colon before the names, no # of its own.
std::string_view near_directive(std::string_view comment) {
  constexpr std::string_view kName = "castscope";
  std::string lower(comment);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (std::size_t at = lower.find(kName); at != std::string::npos; at = lower.find(kName, at + 1)) {
    std::string_view rest = std::string_view(lower).substr(at + kName.size());
    const bool has_colon = consume(rest, ":");
    if (!consume(rest, "ignore") || begins_word(rest)) continue;
    rest = without_blanks(rest);
    if (!has_colon && !rest.empty() && std::string_view("[({<:=").find(rest[0]) == std::string_view::npos) continue;
    const std::string_view before = without_blanks(comment.substr(0, at));
    const bool is_one = has_colon && before.ends_with('#') && comment.substr(at).starts_with(kName);
    if (!is_one) return comment.substr(at);
  }
  return "";
}

}  // namespace

bool silences(std::string_view source_line, std::string_view rule) {
  for (const Directive& directive : directives(comment_of(source_line))) {
    const auto names = names_in(directive.text);
    if (names && std::any_of(names->begin(), names->end(), [&](auto name) { return names_rule(name, rule); }))
      return true;
  }
  return false;
}

std::string_view directive_comment(std::string_view source_line) {
  const std::string_view comment = comment_of(source_line);
  const std::vector<Directive> all = directives(comment);
  return all.empty() ? "" : comment.substr(all.front().begin);
}

std::string wrong_in_comment(std::string_view source_line) {
  const std::string_view comment = comment_of(source_line);
  for (const Directive& directive : directives(comment)) {
    const auto names = names_in(directive.text);
    if (!names) return silences_nothing("castscope: " + std::string(directive.text));
    for (const std::string_view name : *names) {
      if (is_any_rule(name)) continue;
      const auto near = nearest_rule(name);
      return "the comment names no rule by \"" + std::string(name) + "\"" +
             (near ? "; did you mean \"" + *near + "\"?" : " (`castscope rules` lists them)");
    }
  }
  const std::string_view near = near_directive(comment);
  return near.empty() ? "" : silences_nothing(near);
}

Judgement sort_out(std::vector<Finding> findings, const Settings& settings, const store::SourceLines& source,
                   std::string_view project) {
  Judgement judgement;
  for (Finding& finding : findings) {
    const store::CodeLocation at = finding.location.value_or(store::CodeLocation());
    if (settings.ignores(finding.rule) || settings.ignores_in(finding.rule, at.file, project)) {
      ++judgement.ignored_by_settings;
      judgement.silenced.push_back(std::move(finding));
    } else if (silences(source.line(at.file, at.line).value_or(""), finding.rule)) {
      ++judgement.ignored_in_code;
      judgement.silenced.push_back(std::move(finding));
    } else {
      if (const std::string wrong = wrong_in_comment(source.line(at.file, at.line).value_or("")); !wrong.empty()) {
        std::string hint = at.file + ":" + std::to_string(at.line) + ": " + wrong;
        if (std::find(judgement.hints.begin(), judgement.hints.end(), hint) == judgement.hints.end())
          judgement.hints.push_back(std::move(hint));
      }
      judgement.findings.push_back(std::move(finding));
    }
  }
  return judgement;
}

Judgement weigh(std::vector<Finding> found, const store::RunData& data, const Settings& settings) {
  Judgement judgement = sort_out(std::move(found), settings, data.source, data.start.project());
  judgement.settings = settings;
  judgement.looked_at = looked_at(data);
  judgement.rules = judged_rules(data, judgement.looked_at, settings);
  if (data.damage && data.damage->evidence) return judgement;
  if (std::string hint = unused_policy(data, settings); !hint.empty())
    judgement.hints.push_back(std::move(hint));
  else
    for (std::string& unmet : unmet_rules(data, settings)) judgement.hints.push_back(std::move(unmet));
  return judgement;
}

Judgement judgement_of(const store::RunData& data, const Settings& settings) {
  return weigh(judge(data, settings), data, settings);
}

}  // namespace castscope::rules
