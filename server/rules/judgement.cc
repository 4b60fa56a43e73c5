#include "server/rules/judgement.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "server/rules/suggest.h"

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

// Behind the quotes that end the string beginning here. A string that does not end on this line is taken for none: the
// quotes may be the end of one that began above it.
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

// From its # on; "" = none.
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

// "ignore[a, b]": what it names; "ignore", "ignore because …": all ("*"). Nothing when it is another word ("ignored",
// "ignore-file") or something else follows ("ignore: a", "ignore(a)").
std::optional<std::vector<std::string_view>> names_in(std::string_view directive) {
  if (!consume(directive, "ignore")) return std::nullopt;
  if (!directive.empty() && std::string_view("-_:=(").find(directive[0]) != std::string_view::npos) return std::nullopt;
  if (!directive.empty() && std::isalnum(static_cast<unsigned char>(directive[0]))) return std::nullopt;
  if (!consume(directive, "[")) return std::vector<std::string_view>{"*"};
  std::vector<std::string_view> names;
  for (directive = directive.substr(0, directive.find(']')); !directive.empty();) {
    const std::size_t end = std::min(directive.find(','), directive.size());
    if (const std::string_view name = without_blanks(directive.substr(0, end)); !name.empty()) names.push_back(name);
    directive.remove_prefix(std::min(end + 1, directive.size()));
  }
  return names;
}

bool is_any_rule(std::string_view pattern) {
  const auto rules = all_rules();
  return std::any_of(rules.begin(), rules.end(), [&](const Rule* rule) { return names_rule(pattern, rule->name); });
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
  for (const Directive& directive : directives(comment_of(source_line))) {
    const auto names = names_in(directive.text);
    if (!names)
      return "the comment \"castscope: " + std::string(directive.text.substr(0, 60)) +
             "\" silences nothing: write ignore, or ignore[RULE]";
    for (const std::string_view name : *names) {
      if (is_any_rule(name)) continue;
      const auto near = nearest_rule(name);
      return "the comment names no rule by \"" + std::string(name) + "\"" +
             (near ? "; did you mean \"" + *near + "\"?" : " (`castscope rules` lists them)");
    }
  }
  return "";
}

Judgement sort_out(std::vector<Finding> findings, const Settings& settings, const store::SourceLines& source,
                   std::string_view run_folder) {
  Judgement judgement;
  for (Finding& finding : findings) {
    const store::CodeLocation at = finding.location.value_or(store::CodeLocation());
    if (settings.ignores(finding.rule) || settings.ignores_in(finding.rule, at.file, run_folder)) {
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

Judgement judgement_of(const store::RunData& data, const Settings& settings) {
  if (data.damage && data.damage->evidence) return {};
  return sort_out(judge(data, settings), settings, data.source, data.start.cwd);
}

}  // namespace castscope::rules
