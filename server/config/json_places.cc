#include "server/config/json_places.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/utf8/utf8.h"

namespace castscope::config {
namespace {

using Json = nlohmann::json;

// Reads the text and counts how far the parser has come. Behind a string the parser has looked ahead by no character,
// behind a number or word by one.
class Reader {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  Reader(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  Reader& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Reader operator++(int) {
    Reader before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Reader& other) const { return at_ == other.at_; }
  bool operator!=(const Reader& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

// Counts lines and columns on from `at` to `offset`.
TextPlace place_behind(std::string_view text, TextPlace at, std::size_t offset) {
  for (; at.offset < offset; ++at.offset) {
    const char c = text[at.offset];
    if (c == '\n') {
      ++at.line, at.column = 1;
    } else if (!utf8::continues(c)) {  // characters, not bytes
      ++at.column;
    }
  }
  return at;
}

// With marks at this distance, a place in a long text is found without reading everything before it.
constexpr std::size_t kBetweenMarks = 1024;

std::vector<TextPlace> marks_in(std::string_view text) {
  std::vector<TextPlace> marks(1);
  while (marks.back().offset + kBetweenMarks < text.size())
    marks.push_back(place_behind(text, marks.back(), marks.back().offset + kBetweenMarks));
  return marks;
}

// Finds the begin of the string, number or word that ends before `end`.
std::size_t begin_of(std::string_view text, std::size_t end) {
  if (end == 0) return 0;
  std::size_t at = end - 1;
  if (text[at] == '"') {
    while (at > 0) {
      --at;
      std::size_t backslashes = 0;
      while (backslashes < at && text[at - 1 - backslashes] == '\\') ++backslashes;
      if (text[at] == '"' && backslashes % 2 == 0) return at;
    }
    return 0;
  }
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '+';
  };
  if (!is_word(text[at]) && at > 0 && is_word(text[at - 1])) --at;  // the character that the parser looked ahead by
  while (at > 0 && is_word(text[at]) && is_word(text[at - 1])) --at;
  return at;
}

// Keeps the path to the value that is being parsed.
class Way {
 public:
  void begin(bool is_array) { levels_.push_back({"", 0, is_array}); }
  void end() { levels_.pop_back(); }
  void key(const std::string& key) { levels_.back().key = key; }
  // Returns the pointer of the next entry in the innermost object or list.
  std::string pointer() const {
    Json::json_pointer pointer;
    for (const Level& level : levels_)
      level.is_array ? pointer.push_back(std::to_string(level.index)) : pointer.push_back(level.key);
    return pointer.to_string();
  }
  std::size_t depth() const { return levels_.size(); }
  bool in_array() const { return !levels_.empty() && levels_.back().is_array; }
  void next() {
    if (in_array()) ++levels_.back().index;
  }

 private:
  struct Level {
    std::string key;
    std::size_t index;
    bool is_array;
  };
  std::vector<Level> levels_;
};

constexpr std::size_t kDeepest = 32;  // settings need three

// Whether a closing bracket follows a comma: "[1, 2,]".
bool is_behind_comma(std::string_view text, std::size_t offset) {
  if (offset >= text.size() || (text[offset] != ']' && text[offset] != '}')) return false;
  const std::size_t before = offset == 0 ? text.npos : text.find_last_not_of(" \t\r\n", offset - 1);
  return before != text.npos && text[before] == ',';
}

// "[json.exception.parse_error.101] parse error at line 1, column 3: syntax error while parsing value - unexpected '}'"
// → "unexpected '}'".
std::string without_preamble(const std::string& what) {
  const std::size_t colon = what.find(": "), dash = what.find(" - ");
  if (dash != std::string::npos) return what.substr(dash + 3);
  return colon == std::string::npos ? what : what.substr(colon + 2);
}

// Writes control characters as JSON does: a zero byte would end the sentence in many programs that print it.
std::string without_controls(std::string_view sentence) {
  std::string text;
  while (!sentence.empty()) {
    const std::size_t control = utf8::control_at(sentence), length = std::max<std::size_t>(control, 1);
    if (control == 0) text += sentence[0];
    // A longer one is one of those that are hidden; a sentence does without it.
    if (control == 1) absl::StrAppend(&text, "\\u", absl::Hex(sentence[0], absl::kZeroPad4));
    if (control > 1) text += '?';
    sentence.remove_prefix(length);
  }
  return text;
}

}  // namespace

absl::StatusOr<PlacedJson> PlacedJson::parse(const std::string& text, const std::string& file) {
  PlacedJson placed;
  placed.file_ = file;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // editors neither show nor count it
  placed.text_ = text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
  placed.marks_ = marks_in(placed.text_);
  const char* const begin = placed.text_.data();
  const char* reached = begin;
  Way way;
  std::string twice;
  bool too_deep = false;
  const auto note = [&] {
    if (way.depth() > kDeepest) {
      too_deep = true;
      return;
    }
    const auto offset = static_cast<std::size_t>(reached - begin);
    const bool is_new = placed.ends_.emplace(way.pointer(), offset).second;
    if (!is_new && twice.empty()) twice = absl::StrCat(placed.place_at(begin_of(placed.text_, offset)), ": ");
  };
  const auto follow = [&](int, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        if (way.in_array()) note();
        way.begin(event == Json::parse_event_t::array_start);
        break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end:
        way.end();
        way.next();
        break;
      case Json::parse_event_t::key:
        way.key(parsed.get<std::string>());
        note();
        break;
      case Json::parse_event_t::value:
        if (way.in_array()) note();
        way.next();
        break;
    }
    return true;
  };
  try {
    placed.root_ = Json::parse(Reader(begin, &reached), Reader(begin + placed.text_.size(), &reached), follow,
                               /*allow_exceptions=*/true, /*ignore_comments=*/true);
  } catch (const Json::parse_error& error) {
    const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    return absl::InvalidArgumentError(absl::StrCat(placed.place_at(offset), ": this is not JSON: ",
                                                   is_behind_comma(placed.text_, offset)
                                                       ? "there is a comma too many before this"
                                                       : without_preamble(error.what())));
  } catch (const Json::out_of_range&) {  // 1e400
    const auto offset = static_cast<std::size_t>(reached - begin);
    return absl::InvalidArgumentError(
        absl::StrCat(placed.place_at(begin_of(placed.text_, offset)), ": this number is too large"));
  }
  if (too_deep) return absl::InvalidArgumentError(absl::StrCat(file, ": lists or objects are nested too deep"));
  if (!twice.empty())
    return absl::InvalidArgumentError(absl::StrCat(twice, "this key stands here for the second time"));
  return placed;
}

std::size_t PlacedJson::order(const std::string& pointer) const {
  const auto found = ends_.find(pointer);
  return found == ends_.end() ? 0 : found->second;
}

std::string PlacedJson::place_at(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const TextPlace at = place_behind(text_, marks_[std::min(offset / kBetweenMarks, marks_.size() - 1)], offset);
  return absl::StrCat(file_, ":", at.line, ":", at.column);
}

std::string PlacedJson::place(const std::string& pointer) const {
  const std::size_t end = order(pointer);
  return place_at(end == 0 ? 0 : begin_of(text_, end));
}

absl::Status PlacedJson::complaint(const std::string& pointer, const std::string& sentence) const {
  return absl::InvalidArgumentError(absl::StrCat(place(pointer), ": ", without_controls(sentence)));
}

}  // namespace castscope::config
