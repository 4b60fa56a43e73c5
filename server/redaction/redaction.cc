#include "server/redaction/redaction.h"

#include <re2/re2.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/utf8/utf8.h"

namespace castscope::redaction {
namespace {

// Texts that are hidden beyond this number share one mark.
constexpr std::size_t kMostNumbers = 1u << 16;

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

std::unique_ptr<const RE2> compiled(const std::string& pattern) {
  RE2::Options options(RE2::Quiet);
  options.set_dot_nl(true);
  return std::make_unique<const RE2>(pattern, options);
}

void find_marks(std::string_view text, std::vector<Span>& spans) {
  static const RE2& mark = *new RE2(R"(\[redacted(?: \d+)?\])");
  re2::StringPiece found;
  for (std::size_t at = 0; mark.Match(piece(text), at, text.size(), RE2::UNANCHORED, &found, 1);) {
    const auto begin = static_cast<std::size_t>(found.data() - text.data());
    spans.push_back({begin, begin + found.size()});
    at = begin + found.size();
  }
}

// What was replaced before is not replaced again; what stands around it is.
void spare_marks(std::string_view text, std::vector<Span>& spans) {
  std::vector<Span> marks, left;
  find_marks(text, marks);
  if (marks.empty()) return;
  for (Span span : spans) {
    for (const Span& mark : marks) {
      if (mark.end <= span.begin || mark.begin >= span.end) continue;
      if (span.begin < mark.begin) left.push_back({span.begin, mark.begin, span.numbered});
      span.begin = std::min(mark.end, span.end);
    }
    if (span.begin < span.end) left.push_back(span);
  }
  spans = std::move(left);
}

// Spans in order, none of which touches another one.
std::vector<Span> joined(std::vector<Span> spans) {
  std::ranges::sort(spans, {}, &Span::begin);
  std::vector<Span> apart;
  for (const Span& span : spans) {
    if (apart.empty() || span.begin > apart.back().end) {
      apart.push_back(span);
      continue;
    }
    apart.back().end = std::max(apart.back().end, span.end);
    apart.back().numbered |= span.numbered;
  }
  return apart;
}

}  // namespace

Redaction::Redaction() = default;
Redaction::~Redaction() = default;

absl::StatusOr<std::shared_ptr<Redaction>> Redaction::of(const std::string& pattern) {
  auto redaction = std::make_shared<Redaction>();
  if (pattern.empty()) return redaction;
  redaction->pattern_ = compiled(pattern);
  if (!redaction->pattern_->ok())
    return absl::InvalidArgumentError(
        absl::StrCat("\"", pattern, "\" is not a regular expression of RE2: ", redaction->pattern_->error()));
  return redaction;
}

std::shared_ptr<Redaction> Redaction::of_everything() {
  auto redaction = std::make_shared<Redaction>();
  redaction->everything_ = true;
  return redaction;
}

void Redaction::find_patterns(std::string_view text, std::vector<Span>& spans) const {
  if (everything_ && !text.empty() && text != kEverythingIsHidden) spans.push_back({0, text.size(), true});
  if (pattern_ == nullptr) return;
  re2::StringPiece found;
  for (std::size_t at = 0; at < text.size();) {
    if (!pattern_->Match(piece(text), at, text.size(), RE2::UNANCHORED, &found, 1)) return;
    const auto begin = static_cast<std::size_t>(found.data() - text.data());
    const std::size_t end = begin + found.size();
    if (end > begin) spans.push_back({begin, end, true});
    at = std::max(end, begin + 1);
  }
}

std::string Redaction::mark(std::string_view hidden, bool numbered) {
  if (!numbered) return "[redacted]";
  const std::lock_guard lock(mutex_);
  const auto known = numbers_.find(std::string(hidden));
  const bool full = known == numbers_.end() && numbers_.size() >= kMostNumbers;
  const std::size_t number = known != numbers_.end() ? known->second
                             : full                  ? kMostNumbers + 1
                                    : numbers_.emplace(std::string(hidden), numbers_.size() + 1).first->second;
  return number == 1 ? "[redacted]" : absl::StrCat("[redacted ", number, "]");
}

std::string Redaction::replaced(std::string_view text, std::vector<Span> spans) {
  if (spans.empty()) return std::string(text);
  spare_marks(text, spans);
  std::string result;
  std::size_t at = 0;
  for (const Span& span : joined(std::move(spans))) {
    result += text.substr(at, span.begin - at);
    result += mark(text.substr(span.begin, span.end - span.begin), span.numbered);
    at = span.end;
  }
  result += text.substr(at);
  // A pattern that matches every second letter would make large texts out of small ones.
  return result.size() > 2 * text.size() + 64 ? mark(text, true) : result;
}

std::string Redaction::text(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return line(absl::StrSplit(std::string(text), '\0'));
  if (first_lines_) text = text.substr(0, text.find('\n'));
  const std::string whole = utf8::repaired(text);  // RE2 matches nothing that is not UTF-8
  std::vector<Span> spans;
  find_tokens(whole, spans);
  find_named_values(whole, spans);
  find_patterns(whole, spans);
  return replaced(whole, std::move(spans));
}

std::string Redaction::source(std::string_view line) {
  const std::string whole = utf8::repaired(line);
  std::vector<Span> spans;
  find_tokens(whole, spans);
  find_patterns(whole, spans);
  return replaced(whole, std::move(spans));
}

std::vector<std::string> Redaction::command(const std::vector<std::string>& words) {
  std::vector<std::string> whole;
  for (const std::string& word : words) whole.push_back(utf8::repaired(word));
  const std::string line = absl::StrJoin(whole, " ");
  std::vector<Span> of_line;
  if (!everything_) find_patterns(line, of_line);
  std::vector<std::vector<Span>> spans_of_words = find_named_values(whole);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string& word = whole[i];
    std::vector<Span>& spans = spans_of_words[i];
    for (const Span& span : of_line) {
      const std::size_t from = std::max(span.begin, begin), to = std::min(span.end, begin + word.size());
      if (from < to) spans.push_back({from - begin, to - begin, true});
    }
    find_tokens(word, spans);
    find_patterns(word, spans);
    begin += word.size() + 1;
    word = replaced(word, std::move(spans));
  }
  return whole;
}

std::string Redaction::line(const std::vector<std::string>& words) {
  std::string line = absl::StrJoin(command(words), " ");
  std::ranges::replace(line, '\n', ' ');
  return line;
}

absl::StatusOr<std::string> in_one_pattern(const std::vector<std::string>& patterns) {
  std::vector<std::string> groups;
  for (const std::string& pattern : patterns) {
    if (pattern.empty()) return absl::InvalidArgumentError("a pattern for what is to be redacted is empty");
    if (auto redaction = Redaction::of(pattern); !redaction.ok()) return redaction.status();
    groups.push_back(patterns.size() == 1 ? pattern : absl::StrCat("(?:", pattern, ")"));
  }
  std::string one = absl::StrJoin(groups, "|");
  if (auto redaction = Redaction::of(one); !redaction.ok()) return redaction.status();  // too large, all together
  return one;
}

}  // namespace castscope::redaction
