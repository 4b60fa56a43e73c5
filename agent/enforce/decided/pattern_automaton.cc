#include "agent/enforce/decided/pattern_automaton.h"

#include <algorithm>

namespace castscope::enforce::automaton {
namespace {

constexpr char32_t kLast = 0x10FFFF;

}  // namespace

Set ranges(std::string_view ends) {
  Set set;
  for (std::size_t i = 0; i < ends.size(); i += 2) set.emplace_back(ends[i], ends[i + 1]);
  return set;
}

Set all_but(Set set) {
  std::sort(set.begin(), set.end());
  Set others;
  char32_t next = 0;
  for (const auto& [from, to] : set) {
    if (from > next) others.emplace_back(next, from - 1);
    next = std::max<char32_t>(next, to + 1);
  }
  if (next <= kLast) others.emplace_back(next, kLast);
  return others;
}

bool has(const Set& set, char32_t c) {
  const auto after = std::upper_bound(set.begin(), set.end(), c, [](char32_t a, const auto& b) { return a < b.first; });
  return after != set.begin() && c <= (after - 1)->second;
}

Set in_either_case(const Set& set) {
  Set both = set;
  for (char32_t c = 'a'; c <= 'z'; ++c) {
    const char32_t upper = c - 'a' + 'A';
    if (has(set, c) || has(set, upper)) both.insert(both.end(), {{c, c}, {upper, upper}});
  }
  return both;
}

std::optional<char32_t> take_character(std::string_view& text) {
  constexpr char32_t kFirst[] = {0, 0x80, 0x800, 0x10000};
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t more = first < 0x80 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  if ((first >= 0x80 && first < 0xC0) || first >= 0xF8 || text.size() <= more) return std::nullopt;
  char32_t c = more == 0 ? first : first & (0x3Fu >> more);
  for (const char byte : text.substr(1, more)) {
    if ((byte & 0xC0) != 0x80) return std::nullopt;
    c = c << 6 | (byte & 0x3F);
  }
  text.remove_prefix(more + 1);
  if (c < kFirst[more] || c > kLast || (c >= 0xD800 && c < 0xE000)) return std::nullopt;
  return c;
}

void Reached::add(std::size_t state) {
  for (open_.push_back(state); !open_.empty();) {
    const std::size_t at = open_.back();
    open_.pop_back();
    if (std::exchange(round_of_[at], round_) == round_) continue;
    states_.push_back(at);
    const auto& [kind, a, b] = (*code_)[at];
    if (kind == Kind::kFork) open_.insert(open_.end(), {at + b, at + a});
    if (kind == Kind::kStart || kind == Kind::kEnd) open_.push_back(at + 1);
  }
}

}  // namespace castscope::enforce::automaton
