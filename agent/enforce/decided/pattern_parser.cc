#include "agent/enforce/decided/pattern_parser.h"

#include <algorithm>

namespace castscope::enforce::automaton {
namespace {

constexpr std::size_t kMostStates = 10'000;
constexpr int kMostRepeats = 1000;  // the limit that RE2 has
constexpr int kDeepest = 100;       // the parser calls itself for each ( within another
constexpr int kAny = -1;            // no upper limit of repetitions

// The characters behind a backslash; D, W and S are all characters but those of the small letter.
constexpr std::pair<char32_t, std::string_view> kEscapes[] = {
    {'d', "09"}, {'w', "09AZ__az"}, {'s', "\t\r  "}, {'n', "\n\n"}, {'t', "\t\t"}};

std::string ascii(char32_t c) { return {static_cast<char>(c)}; }

State state(Kind kind, std::size_t a, std::size_t b = 0) { return {kind, static_cast<int>(a), static_cast<int>(b)}; }
State fork(std::size_t a, std::size_t b) { return state(Kind::kFork, a, b); }
State jump(std::size_t to) { return fork(to, to); }

template <typename List>
void append(List& to, const List& more) {
  to.insert(to.end(), more.begin(), more.end());
}

class Parser {
 public:
  Parser(std::u32string text, Automaton& into, std::string* error)
      : text_(std::move(text)), made_(into), error_(error) {}

  bool parse() {
    ignores_case_ = take(U"(?i)");
    for (std::size_t i = 0; ignores_case_ && i < text_.size(); ++i) {
      if (text_[i] > 0x7F) return not_supported(i, "a character outside ASCII beside (?i)");
    }
    if (!alternatives(made_.code, 0)) return false;
    if (at_ < text_.size()) return wrong(at_, "this ) closes nothing");
    made_.code.push_back({Kind::kDone});
    return anchors_are_at_the_ends();
  }

 private:
  bool wrong(std::size_t at, const std::string& why) {
    *error_ = "at character " + std::to_string(at + 1) + ": " + why;
    return false;
  }
  bool not_supported(std::size_t at, const std::string& what) {
    return wrong(at, what + " is not supported in module patterns");
  }
  bool has_room(std::size_t states, std::size_t at) {
    return states <= kMostStates || wrong(at, "the pattern has more than " + std::to_string(kMostStates) + " states");
  }
  bool is_next(std::u32string_view any) const { return at_ < text_.size() && any.find(text_[at_]) != any.npos; }
  bool take(std::u32string_view word) {
    const bool is_there = text_.compare(at_, word.size(), word) == 0;
    return is_there ? at_ += word.size(), true : false;
  }

  // For every branch but the last: fork to it or to the next one; the branch; jump behind the last one.
  bool alternatives(Code& into, int depth) {
    const std::size_t begin = at_;
    std::vector<Code> branches;
    std::size_t left = 0;
    do {
      if (!sequence(branches.emplace_back(), depth)) return false;
      left += branches.back().size() + 2;
    } while (take(U"|"));
    left -= 2;
    if (!has_room(left, begin)) return false;
    for (std::size_t i = 0; i + 1 < branches.size(); ++i) {
      const std::size_t size = branches[i].size();
      left -= size + 2;
      into.push_back(fork(1, size + 2));
      append(into, branches[i]);
      into.push_back(jump(left + 1));
    }
    append(into, branches.back());
    return true;
  }

  bool sequence(Code& into, int depth) {
    while (at_ < text_.size() && !is_next(U"|)")) {
      const std::size_t begin = at_;
      Code piece;
      if (!atom(piece, depth)) return false;
      const bool is_anchor = piece.size() == 1 && (piece[0].kind == Kind::kStart || piece[0].kind == Kind::kEnd);
      if (is_next(U"*+?{") && !(is_anchor ? repeats_nothing(at_) : repeat(piece))) return false;
      if (!has_room(into.size() + piece.size(), begin)) return false;
      append(into, piece);
    }
    return true;
  }

  bool atom(Code& into, int depth) {
    const std::size_t begin = at_;
    Set meant;
    if (take(U"(")) return group(into, begin, depth);
    if (take(U"[")) return set(into, begin);
    if (take(U".")) return one(into, all_but(ranges("\n\n")));
    if (take(U"^") || take(U"\\A")) return into.push_back(state(Kind::kStart, begin)), true;
    if (take(U"$")) return into.push_back(state(Kind::kEnd, begin)), true;
    if (is_next(U"*+?{")) return repeats_nothing(begin);
    return character(meant) && one(into, meant);
  }
  bool one(Code& into, Set meant, bool is_negated = false) {
    into.push_back(state(Kind::kOne, made_.sets.size()));
    Set others = all_but(std::move(meant));
    if (ignores_case_) others = all_but(in_either_case(all_but(std::move(others))));
    made_.sets.push_back(is_negated ? std::move(others) : all_but(std::move(others)));
    return true;
  }

  bool group(Code& into, std::size_t begin, int depth) {
    if (depth == kDeepest) return wrong(begin, "more than " + std::to_string(kDeepest) + " groups within each other");
    if (is_next(U"?") && !take(U"?:")) {
      if (take(U"?i)")) return wrong(begin, "(?i) is supported at the start alone");
      std::string what = "(?";
      for (++at_; is_next(what.size() == 2 ? U"P<=!>#(imsxaLuU-" : U"<=!"); ++at_) what += ascii(text_[at_]);
      return not_supported(begin, what);
    }
    if (!alternatives(into, depth + 1)) return false;
    return take(U")") || wrong(begin, "this ( is never closed");
  }

  bool set(Code& into, std::size_t begin) {
    Set meant;
    const bool is_negated = take(U"^");
    for (bool is_first = true; is_first || !is_next(U"]"); is_first = false) {  // []a] has a ] in it
      if (at_ == text_.size()) return wrong(begin, "this [ is never closed");
      if (!member(meant)) return false;
    }
    ++at_;
    return one(into, std::move(meant), is_negated);
  }
  // A character of a set, a range, or \d.
  bool member(Set& into) {
    const std::size_t begin = at_;
    const auto is_one = [](const Set& set) { return set.size() == 1 && set[0].first == set[0].second; };
    Set low, high;
    if (take(U"[:")) return not_supported(begin, "[:");
    if (!character(low)) return false;
    if (is_next(U"-") && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
      ++at_;
      if (!character(high)) return false;
      if (!is_one(low) || !is_one(high) || low > high) return wrong(begin, "this is not a range of characters");
      low[0].second = high[0].first;
    }
    append(into, low);
    return true;
  }

  // The character itself, or what its backslash makes of it; in a set or outside.
  bool character(Set& into) {
    const std::size_t begin = at_;
    const bool is_escaped = take(U"\\");
    if (at_ == text_.size()) return wrong(begin, "a backslash at the end stands for nothing");
    const char32_t c = text_[at_++];
    if (!is_escaped) return into = {{c, c}}, true;
    if (c > 0x7F) return not_supported(begin, "a backslash before this character");
    const bool is_negated = c == 'D' || c == 'W' || c == 'S';
    for (const auto& [letter, ends] : kEscapes) {
      if (c == letter) return into = ranges(ends), true;
      if (is_negated && c == letter - 'a' + 'A') return into = all_but(ranges(ends)), true;
    }
    if (has(ranges("09AZaz"), c)) return not_supported(begin, "\\" + ascii(c));
    return into = {{c, c}}, true;
  }

  // ---- repetitions

  bool repeats_nothing(std::size_t at) {
    return wrong(at, "there is nothing before this " + ascii(text_[at]) + " to repeat");
  }

  bool repeat(Code& piece) {
    const std::size_t begin = at_, size = piece.size();
    const char32_t sign = text_[at_++];
    int least = sign == '+' ? 1 : 0, most = sign == '?' ? 1 : kAny;
    if (sign == '{' && !counts(begin, least, most)) return false;
    if (!take(U"?") && is_next(U"+")) return not_supported(at_, "a + behind a repetition");
    if (is_next(U"*+?{")) return wrong(at_, "a repetition is repeated here; put ( ) around the inner one");

    const std::size_t optional = most == kAny ? 0 : most - least;
    if (!has_room(least * size + optional * (size + 1) + (most == kAny ? size + 2 : 0), begin)) return false;
    const Code once = std::exchange(piece, {});
    for (int i = 0; i < least; ++i) append(piece, once);
    for (std::size_t i = 0; i < optional; ++i) piece.push_back(fork(1, size + 1)), append(piece, once);
    if (most == kAny) piece.push_back(fork(1, size + 2)), append(piece, once), piece.push_back(jump(-(size + 1)));
    return true;
  }
  bool counts(std::size_t begin, int& least, int& most) {
    bool is_right = number(least);
    most = least;
    if (is_right && take(U",")) is_right = is_next(U"}") ? (most = kAny, true) : number(most);
    if (!is_right || !take(U"}"))
      return wrong(begin, "this is not {m}, {m,} or {m,n}; to match the character itself, write \\{");
    if (std::max(least, most) > kMostRepeats)
      return wrong(begin, "more than " + std::to_string(kMostRepeats) + " repetitions");
    return most == kAny || most >= least || wrong(begin, "the maximum is less than the minimum");
  }
  // RE2 takes {01} for characters, Python takes it for a number: it is refused.
  bool number(int& n) {
    const std::size_t begin = at_;
    for (n = 0; is_next(U"0123456789"); ++at_)
      n = std::min(n * 10 + static_cast<int>(text_[at_] - '0'), kMostRepeats + 1);
    return at_ > begin && (text_[begin] != '0' || at_ == begin + 1);
  }

  // ---- anchors

  // Elsewhere Python's $ and RE2's differ. Here they hold whenever they are reached, so that nothing tests them.
  bool anchors_are_at_the_ends() {
    const Code& code = made_.code;
    Reached after_character(code), after_end(code);
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (code[i].kind == Kind::kOne) after_character.add(i + 1);
    }
    for (const std::size_t i : after_character.states()) {
      if (code[i].kind == Kind::kStart) return wrong(code[i].a, "^ and \\A are supported at the start alone");
    }
    for (std::size_t i = 0, looked_at = 0; i < code.size(); ++i) {
      if (code[i].kind == Kind::kEnd) after_end.add(i + 1);
      for (; looked_at < after_end.states().size(); ++looked_at) {
        const Kind kind = code[after_end.states()[looked_at]].kind;
        if (kind == Kind::kOne) return wrong(code[i].a, "$ is supported at the end alone");
      }
    }
    return true;
  }

  const std::u32string text_;
  Automaton& made_;
  std::string* const error_;
  std::size_t at_ = 0;
  bool ignores_case_ = false;
};

}  // namespace

bool parse(std::u32string text, Automaton& into, std::string* error) {
  return Parser(std::move(text), into, error).parse();
}

}  // namespace castscope::enforce::automaton
