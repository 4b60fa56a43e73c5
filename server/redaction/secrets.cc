#include "server/redaction/secrets.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "server/redaction/program_secrets.h"

namespace castscope::redaction {
namespace {

// What the name of an option, a variable or a field with a secret ends with. "pass" alone is no such name: there are
// --single-pass and --bypass.
#define CASTSCOPE_SECRET_NAME                                                                            \
  "(?i:passwords?|passwd|passphrase|secret|token|credentials?|jwt|cookie|authorization|bearer"           \
  "|mysql_pwd|sshpass|(?:db|user|admin|root|smtp|mail|proxy|mysql|postgres|pg|redis|registry)[-_.]?pass" \
  "|(?:api|access|private|secret)[-_.]?key)"

// Options that are secrets under this very name alone. (--pwd is a folder.)
#define CASTSCOPE_SECRET_OPTION "(?:--pass|--?pw)"

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

// Whether a name that ends with "token" is one of those that training scripts are full of: a text to a model, or a
// number of them. --tokens, --tokenizer and --token-count do not end so in the first place.
bool is_token_of_text(std::string_view name) {
  static const RE2& of_text = *new RE2(
      R"((?i)(?:.*[^A-Za-z])?(?:pad|eos|bos|unk|mask|cls|sep|eot|sot|image|video|audio|special|prefix|suffix|start|end)"
      R"(|stop|max|min|num|n|per|new|next)[-_.]token)");
  return RE2::FullMatch(as_piece(name), of_text);
}

// What a word says of what comes behind it.
struct Named {
  enum class Kind { kNothing, kValue, kHeader };
  Kind kind = Kind::kNothing;
  std::size_t value = 0;    // where in the word the value begins; the word's size = in the next word
  bool has_scheme = false;  // a word like "Bearer" may stand before the value
  explicit operator bool() const { return kind != Kind::kNothing; }
};

// NAME=VALUE, "NAME": VALUE
Named assigned_in(std::string_view word) {
  static const RE2& assigned = *new RE2("(" CASTSCOPE_SECRET_NAME R"(|^)" CASTSCOPE_SECRET_OPTION R"()(?:=|["']:))");
  static const RE2& authorization = *new RE2("(?i)authorization");
  re2::StringPiece found[2];
  for (std::size_t at = 0; assigned.Match(as_piece(word), at, word.size(), RE2::UNANCHORED, found, 2);) {
    const auto name_end = static_cast<std::size_t>(found[1].data() + found[1].size() - word.data());
    const auto value = static_cast<std::size_t>(found[0].data() + found[0].size() - word.data());
    if (!is_token_of_text(word.substr(at, name_end - at)))
      return {Named::Kind::kValue, value, RE2::FullMatch(found[1], authorization)};
    at = value;
  }
  return {};
}

// NAME: VALUE, also as a part of -HNAME: VALUE and --header=NAME: VALUE
Named header_in(std::string_view word) {
  static const RE2& header = *new RE2(
      R"((?i)(?:^|^-H|["'=])(?:((?:proxy-)?authorization)|(?:set-)?cookie|x-(?:\w+-)*(?:key|token|secret|password|auth))"
      R"(|api-?key|(?:private|job|deploy)-token|ocp-apim-subscription-key):)");
  re2::StringPiece found[2];
  if (!header.Match(as_piece(word), 0, word.size(), RE2::UNANCHORED, found, 2)) return {};
  const auto value = static_cast<std::size_t>(found[0].data() + found[0].size() - word.data());
  return {Named::Kind::kHeader, value, !found[1].empty()};
}

// --NAME, with its value in the next word
bool names_secret(std::string_view word) {
  static const RE2& name = *new RE2(R"((?:--?[\w.-]*)" CASTSCOPE_SECRET_NAME "|" CASTSCOPE_SECRET_OPTION ")");
  return RE2::FullMatch(as_piece(word), name) && !is_token_of_text(word);
}

bool is_scheme(std::string_view word) {
  static const RE2& scheme = *new RE2(R"((?i)["']?(?:bearer|basic|digest|negotiate|token|apikey))");
  return RE2::FullMatch(as_piece(word), scheme);
}

Named named_in(std::string_view word) {
  if (const Named header = header_in(word)) return header;
  if (const Named assigned = assigned_in(word)) return assigned;
  if (names_secret(word)) return {Named::Kind::kValue, word.size()};
  return {};
}

constexpr std::string_view kBlanks = " \t\r\n";

// Finds the secrets of a line, word by word.
class LineReader {
 public:
  explicit LineReader(std::vector<Span>& spans) : spans_(spans) {}

  void read(std::string_view word, std::size_t at) {
    const std::size_t of_program = programs_.begin_in(word);
    Named named = named_in(word);
    if (of_program != ProgramSecrets::kNone) named = {Named::Kind::kValue, of_program};
    // The first word is hidden whatever it is. If it names a secret itself, so is that one.
    const bool is_value = hidden_ && (!begun_ || (!named && !ends(word)));
    if (is_value) hide(word, 0, at);
    if (named) {
      hidden_ = named, begun_ = is_value && named.value < word.size();
      if (!begun_ && named.value < word.size()) hide(word, named.value, at);
    } else if (!is_value) {
      hidden_ = {}, begun_ = false;
    }
  }

 private:
  bool ends(std::string_view word) const {
    return word.front() == '-' || (hidden_.kind == Named::Kind::kValue && word.find('=') != std::string_view::npos);
  }
  void hide(std::string_view word, std::size_t from, std::size_t at) {
    if (!begun_ && hidden_.has_scheme && is_scheme(word.substr(from))) return;
    if (begun_)
      spans_.back().end = at + word.size();
    else
      spans_.push_back({at + from, at + word.size()});
    begun_ = true;
  }

  std::vector<Span>& spans_;
  ProgramSecrets programs_;
  Named hidden_;        // what is hidden at present
  bool begun_ = false;  // a word of its value was met
};

}  // namespace

void find_tokens(std::string_view text, std::vector<Span>& spans) {
  static const RE2& tokens = *new RE2(
      R"(\b(?:hf_[A-Za-z0-9]{20,}|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|npm_[A-Za-z0-9]{30,})"
      R"(|pypi-[\w-]{40,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{35}|xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{20,}|sk-[\w-]{20,})"
      R"(|[sr]k_(?:live|test)_\w{16,}|wandb_v1_\w{20,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+))");
  static const RE2& bearers = *new RE2(R"((?i)\bbearer\s+([\w.~+/=-]{16,}))");
  // A password may have an @ in it: the last one before a slash ends it.
  static const RE2& passwords = *new RE2(R"(://[^/\s:@]*:([^/\s]+)@)");
  find(tokens, text, spans);
  find(bearers, text, spans);
  find(passwords, text, spans);
}

void find_named_values(std::string_view line, std::vector<Span>& spans) {
  LineReader reader(spans);
  for (std::size_t at = 0; (at = line.find_first_not_of(kBlanks, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    reader.read(line.substr(at, end - at), at);
    at = end;
  }
}

std::vector<std::vector<Span>> find_named_values(const std::vector<std::string>& words) {
  std::vector<std::vector<Span>> result;
  ProgramSecrets programs;
  bool is_value = false;  // the option before this word says so
  for (const std::string& word : words) {
    std::vector<Span>& spans = result.emplace_back();
    const std::size_t of_program = programs.begin_in(word);
    if (!is_value) find_named_values(word, spans);
    if (is_value && !word.empty()) spans.push_back({0, word.size()});
    if (of_program < word.size()) spans.push_back({of_program, word.size()});
    // Also of a value: "--use-token --password X". But -ptoken of a program is the secret itself.
    is_value = of_program == ProgramSecrets::kNone && names_secret(word);
  }
  return result;
}

}  // namespace castscope::redaction
