#include "agent/enforce/decided/pattern.h"

#include "agent/enforce/decided/pattern_automaton.h"
#include "agent/enforce/decided/pattern_parser.h"

namespace castscope::enforce {

std::optional<Pattern> Pattern::parse(std::string_view text, std::string* error) {
  std::u32string characters;
  while (!text.empty()) {
    const auto c = automaton::take_character(text);
    if (!c) {
      *error = "at character " + std::to_string(characters.size() + 1) + ": this is not UTF-8";
      return std::nullopt;
    }
    characters += *c;
  }
  const auto made = std::make_shared<automaton::Automaton>();
  if (!automaton::parse(std::move(characters), *made, error)) return std::nullopt;
  return Pattern(made);
}

bool Pattern::matches_all(std::string_view text) const {
  const auto& [code, sets] = *automaton_;
  automaton::Reached now(code), next(code);
  now.add(0);
  while (!text.empty() && !now.states().empty()) {
    const auto c = automaton::take_character(text);
    if (!c) return false;
    next.clear();
    for (const std::size_t at : now.states()) {
      if (code[at].kind == automaton::Kind::kOne && automaton::has(sets[code[at].a], *c)) next.add(at + 1);
    }
    std::swap(now, next);
  }
  return now.is_done();
}

}  // namespace castscope::enforce
