// A regular expression that the whole of a text must match: a module's path, or the name of its class. castscope reads
// patterns with it when it checks a policy, and the agent when it carries one out, so both mean the same. It uses
// only the standard library, whose own <regex> takes exponential time and calls itself for each character.
//
// The syntax is what Python's re and RE2 have in common, with the meaning of re.fullmatch and re.ASCII:
//   x . [a-z_] [^0-9]            one character (a code point); . is any but \n
//   \d \w \s \D \W \S            ASCII; inside [ ] too
//   \. \n \t                     a backslash before ASCII punctuation, a line's end, a tab
//   ( ) (?: ) |                  groups; none is remembered
//   * + ? {m} {m,} {m,n}         at most 1000; a ? behind one (lazy) cannot change whether the whole text matches
//   ^ \A $                       at the ends alone, where they say what holds anyway
//   (?i)                         at the start: ASCII letters in either case; no other character may stand beside it
// Anything else is an error: nothing is read with another meaning.
//
// A Thompson automaton: all states that the text so far leads to go through it side by side. A match takes at most
// (length of the text) × (states) steps, and there are at most 10,000 states.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace castscope::enforce {

namespace automaton {
struct Automaton;
}

class Pattern {
 public:
  // Returns nothing, and says in `error` at which character what is wrong, when the text is not such a pattern.
  static std::optional<Pattern> parse(std::string_view text, std::string* error);

  // A text that is not UTF-8 matches nothing.
  bool matches_all(std::string_view text) const;

 private:
  explicit Pattern(std::shared_ptr<const automaton::Automaton> automaton) : automaton_(std::move(automaton)) {}

  std::shared_ptr<const automaton::Automaton> automaton_;
};

}  // namespace castscope::enforce
