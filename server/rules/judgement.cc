#include "server/rules/judgement.h"

#include <algorithm>
#include <cctype>
#include <utility>

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

// What stands behind "castscope:" in one comment.
bool directive_silences(std::string_view text, std::string_view rule) {
  if (!consume(text, "ignore")) return false;
  // "ignored" and "ignore-file" are other words.
  if (!text.empty() && (std::isalnum(static_cast<unsigned char>(text[0])) || text[0] == '-' || text[0] == '_'))
    return false;
  if (!consume(text, "[")) return true;
  for (text = text.substr(0, text.find(']')); !text.empty();) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (names_rule(without_blanks(text.substr(0, end)), rule)) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

}  // namespace

bool silences(std::string_view source_line, std::string_view rule) {
  for (std::size_t at = source_line.find('#'); at != std::string_view::npos; at = source_line.find('#', at + 1)) {
    std::string_view comment = source_line.substr(at + 1);
    if (consume(comment, "castscope") && consume(comment, ":") && directive_silences(comment, rule)) return true;
  }
  return false;
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
      judgement.findings.push_back(std::move(finding));
    }
  }
  return judgement;
}

Judgement judgement_of(const store::RunData& data, const Settings& settings) {
  return sort_out(judge(data, settings), settings, data.source, data.start.cwd);
}

}  // namespace castscope::rules
