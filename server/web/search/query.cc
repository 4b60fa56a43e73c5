#include "server/web/search/query.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/report/text/words.h"
#include "server/rules/suggest.h"

namespace castscope::web {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_field_letter(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<SearchQuery> query() {
    if (text_.size() > kMostSearchBytes)
      return absl::InvalidArgumentError(absl::StrCat("the search is longer than ", kMostSearchBytes, " bytes"));
    SearchQuery query;
    for (skip_blanks(); !at_end(); skip_blanks()) {
      query.push_back(term());
      if (!error_.ok()) return error_;
    }
    if (query.empty()) return absl::InvalidArgumentError("the search is empty");
    return query;
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char now() const { return text_[at_]; }
  bool at_word_end() const { return at_end() || is_blank(now()); }
  void skip_blanks() {
    while (!at_end() && is_blank(now())) ++at_;
  }

  // People count characters, of which one may take several bytes: only the first byte of each counts.
  std::size_t character(std::size_t at) const {
    const auto is_first = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
    return 1 + static_cast<std::size_t>(
                   std::count_if(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), is_first));
  }
  void fail(const std::string& sentence) {
    if (error_.ok()) error_ = absl::InvalidArgumentError(report::on_one_line(sentence));
  }
  std::string place(std::size_t at) const { return absl::StrCat("at character ", character(at)); }

  SearchTerm term() {
    SearchTerm term;
    while (negation()) term.negated = !term.negated;
    if (!error_.ok()) return term;
    const std::size_t begin = at_;
    if (const auto field = field_name()) {
      check_field(begin, *field);
      if (error_.ok()) read_values(begin, term);
      return term;
    }
    term.values.push_back(value(false));
    count_value();
    return term;
  }

  // Takes a "-" or a "not" that negates what follows.
  bool negation() {
    const std::size_t begin = at_;
    // An arrow begins a word, and so does "--deep".
    if (now() == '-' && text_.substr(at_, 2) != "->" && text_.substr(at_, 2) != "--") {
      ++at_;
      if (at_word_end()) fail(absl::StrCat("nothing stands behind the - ", place(begin)));
      return error_.ok();
    }
    const bool is_alone = at_ + 3 >= text_.size() || is_blank(text_[at_ + 3]);
    if (!is_alone || matchable(text_.substr(at_, 3)) != "not") return false;
    at_ += 3;
    skip_blanks();
    if (at_end()) fail(absl::StrCat("nothing stands behind the word not ", place(begin)));
    return error_.ok();
  }

  // Takes "cause:" and returns "cause".
  std::optional<std::string> field_name() {
    std::size_t end = at_;
    while (end < text_.size() && is_field_letter(text_[end])) ++end;
    const bool is_field = end > at_ && end < text_.size() && text_[end] == ':' && text_.substr(end, 2) != "::";
    if (!is_field) return std::nullopt;
    std::string name(text_.substr(at_, end - at_));
    at_ = end + 1;
    return name;
  }

  void check_field(std::size_t begin, const std::string& name) {
    info_ = find_field(absl::AsciiStrToLower(name));
    if (info_ != nullptr) return;
    std::vector<std::string> names;
    for (const FieldInfo& field : search_fields()) names.emplace_back(field.name);
    fail(absl::StrCat("there is no field ", name, ", which stands ", place(begin), "; the fields are ",
                      absl::StrJoin(names, ", "), ". A text that has a colon is searched for in quotes: \"", name,
                      ":\""));
  }

  void read_values(std::size_t begin, SearchTerm& term) {
    term.field = info_->field;
    do {
      if (at_word_end() || now() == ',') {
        return fail(absl::StrCat(std::string(info_->name), ": ", place(begin), " has no value",
                                 term.values.empty() ? "" : " behind its comma", its_values()));
      }
      const std::size_t value_begin = at_;
      term.values.push_back(value(true));
      if (!error_.ok()) return;
      check_value(value_begin, term.values.back());
      count_value();
    } while (error_.ok() && take_comma());
  }
  bool take_comma() {
    const bool is_comma = !at_end() && now() == ',';
    at_ += is_comma ? 1 : 0;
    return is_comma;
  }

  void count_value() {
    if (++values_ > kMostSearchValues)
      fail(absl::StrCat("the search asks for more than ", kMostSearchValues, " things"));
  }

  SearchValue value(bool in_field) {
    if (now() == '"') return quoted(in_field);
    const std::size_t begin = at_;
    while (!at_word_end() && !(in_field && now() == ',')) ++at_;
    return {matchable(text_.substr(begin, at_ - begin)), false};
  }

  SearchValue quoted(bool in_field) {
    const std::size_t begin = at_++;
    std::string inside;
    while (!at_end() && now() != '"') {
      const bool escaped = now() == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == '"' || text_[at_ + 1] == '\\');
      at_ += escaped ? 1 : 0;
      inside += text_[at_++];
    }
    if (at_end()) {
      fail(absl::StrCat("the quotation mark ", place(begin), " has no second one"));
      return {};
    }
    ++at_;
    if (inside.empty()) fail(absl::StrCat("nothing stands between the quotation marks ", place(begin)));
    if (!at_word_end() && !(in_field && now() == ','))
      fail(absl::StrCat("a blank is missing behind the quotation mark ", place(at_ - 1)));
    return {matchable(inside), true};
  }

  // A word that is misspelt would find nothing, and seem not to be in the run.
  void check_value(std::size_t begin, const SearchValue& value) {
    const std::vector<std::string> list = closed_list(info_->field);
    const bool known = list.empty() || std::any_of(list.begin(), list.end(), [&](const std::string& word) {
                         if (is_value(value, matchable(word))) return true;
                         const std::vector<std::string> others = other_words(info_->field, word);
                         return std::any_of(others.begin(), others.end(),
                                            [&](const auto& other) { return is_value(value, matchable(other)); });
                       });
    if (known) return;
    const std::string written(text_.substr(begin, at_ - begin));
    const auto near = info_->field == SearchField::kRule ? rules::nearest_rule(written) : std::nullopt;
    fail(absl::StrCat(std::string(info_->name), ": has no value ", written, ", which stands ", place(begin),
                      near ? absl::StrCat("; there is ", *near) : its_values()));
  }

  std::string its_values() const {
    switch (info_->field) {
      case SearchField::kDtype:
      case SearchField::kFrom:
      case SearchField::kTo:
        return "; dtypes are called as in PyTorch, such as float32 and bfloat16, or briefly, such as fp32 and bf16";
      case SearchField::kRule:
        return "; `castscope rules` lists the rules";
      default: {
        const std::vector<std::string> list = closed_list(info_->field);
        return list.empty() ? "" : "; its values are " + absl::StrJoin(list, ", ");
      }
    }
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
  const FieldInfo* info_ = nullptr;  // of the term that is read
  absl::Status error_;
};

}  // namespace

absl::StatusOr<SearchQuery> parse_search(std::string_view text) { return Parser(text).query(); }

std::string matchable(std::string_view text) {
  std::string form;
  form.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "->") {
      form += "→";
      ++i;
    } else {
      form += text[i] == '_' ? ' ' : absl::ascii_tolower(static_cast<unsigned char>(text[i]));
    }
  }
  return form;
}

bool is_value(const SearchValue& value, std::string_view text) {
  const std::string& pattern = value.text;
  if (value.literal || pattern.find('*') == std::string::npos) return pattern == text;
  // After the last star that was met, its text is taken to be one byte longer whenever the rest does not fit.
  std::size_t p = 0, t = 0, star = std::string::npos, after = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace castscope::web
