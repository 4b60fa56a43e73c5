#include "server/redaction/secrets.h"

#include <re2/re2.h>

#include <algorithm>

namespace castscope::redaction {
namespace {

// What the name of an option with a secret ends with. A tokenizer's options have names like --max-tokens.
#define CASTSCOPE_SECRET_NAME \
  "(?i:passwords?|passwd|passphrase|secret|token|credentials?|(?:api|access|private|secret)[-_.]?key)"

re2::StringPiece as_piece(std::string_view text) { return {text.data(), text.size()}; }

// In group 1 is what is a secret; without one, all of it is.
void find(const RE2& pattern, std::string_view text, std::vector<Span>& spans) {
  const int group = std::min(pattern.NumberOfCapturingGroups(), 1);
  re2::StringPiece found[2];
  for (std::size_t at = 0; at <= text.size();) {
    if (!pattern.Match(as_piece(text), at, text.size(), RE2::UNANCHORED, found, 2)) return;
    const auto begin = static_cast<std::size_t>(found[group].data() - text.data());
    const std::size_t end = begin + found[group].size();
    if (end > begin) spans.push_back({begin, end});
    at = std::max(end, at + 1);
  }
}

}  // namespace

void find_tokens(std::string_view text, std::vector<Span>& spans) {
  static const RE2& tokens = *new RE2(
      R"(\b(?:hf_[A-Za-z0-9]{20,}|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|(?:AKIA|ASIA)[A-Z0-9]{16})"
      R"(|AIza[\w-]{35}|xox[abeoprs]-[\w-]{10,}|sk-[\w-]{20,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+))");
  static const RE2& passwords = *new RE2(R"(://[^/\s:@]*:([^/\s@]+)@)");
  find(tokens, text, spans);
  find(passwords, text, spans);
}

void find_option_values(std::string_view line, std::vector<Span>& spans) {
  static const RE2& assigned = *new RE2(CASTSCOPE_SECRET_NAME R"((?:=|["']:))");
  constexpr std::string_view kBlanks = " \t\r\n";
  bool hides = false, goes_on = false;  // the value of an option that was met; it has begun before this word
  for (std::size_t at = 0; (at = line.find_first_not_of(kBlanks, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    const std::string_view word = line.substr(at, end - at);
    re2::StringPiece name;
    const bool assigns = assigned.Match(as_piece(word), 0, word.size(), RE2::UNANCHORED, &name, 1);
    if (assigns || word.front() == '-' || word.find('=') != std::string_view::npos) hides = goes_on = false;
    const std::size_t value = assigns ? static_cast<std::size_t>(name.data() + name.size() - line.data()) : at;
    if (hides && goes_on)
      spans.back().end = end;
    else if ((hides || assigns) && value < end)
      spans.push_back({value, end}), goes_on = true;
    hides |= assigns || names_secret(word);
    at = end;
  }
}

bool names_secret(std::string_view word) {
  static const RE2& name = *new RE2(R"(--?[\w.-]*)" CASTSCOPE_SECRET_NAME);
  return RE2::FullMatch(as_piece(word), name);
}

}  // namespace castscope::redaction
