// The automaton that a module's pattern (pattern.h) becomes: states that lead to each other, each with the characters
// that it takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace castscope::enforce::automaton {

// ---- characters (code points)

using Set = std::vector<std::pair<char32_t, char32_t>>;  // from … to

Set ranges(std::string_view ends);  // "09az" → 0-9 and a-z
Set all_but(Set set);               // in order and apart from each other
Set in_either_case(const Set& set);
bool has(const Set& in_order, char32_t c);

// Takes the first character off the text; returns nothing where the text is not UTF-8.
std::optional<char32_t> take_character(std::string_view& text);

// ---- states

enum class Kind : std::uint8_t {
  kOne,    // takes one character, of set `a`
  kFork,   // goes on `a` states further, and `b` states further
  kStart,  // ^ at character `a` of the pattern. It stands where it always holds (pattern_parser.cc)
  kEnd,    // $ likewise
  kDone
};
struct State {
  Kind kind;
  int a = 0, b = 0;
};
// Entered at its first state, left behind its last one. The code may stand anywhere in the automaton.
using Code = std::vector<State>;

struct Automaton {
  Code code;  // kDone is its last state, and nowhere else
  std::vector<Set> sets;
};

// The states that have been reached, each once, with all states that they lead to without a character.
class Reached {
 public:
  explicit Reached(const Code& code) : code_(&code), round_of_(code.size()) {}
  void add(std::size_t state);
  void clear() { states_.clear(), ++round_; }
  const std::vector<std::size_t>& states() const { return states_; }
  bool is_done() const { return round_of_.back() == round_; }

 private:
  const Code* code_;
  std::vector<std::size_t> round_of_, states_, open_;
  std::size_t round_ = 1;
};

}  // namespace castscope::enforce::automaton
