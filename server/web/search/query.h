// The language of the search, which docs/search.md describes for people: parses what somebody typed. Any text is either
// a query or an error that says in a sentence what is wrong, and at which character.
//
//   query  = term { blank term }                      all terms must hold
//   term   = [ "-" | "not" blank ] ( field ":" value { "," value } | word )
//   value  = word | quoted                            any one of the values must hold
//   word   = characters without a blank, or quoted
//   quoted = '"' characters '"'                       \" is a quotation mark, \\ a backslash
//
// A field is made of letters and underscores: `train.py:12` and `aten::mm` are words. So is what begins with an arrow,
// `->bf16`. In a value that is not quoted, * stands for any text; in a word of a field, a comma separates two values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/web/search/fields.h"

namespace castscope::web {

struct SearchValue {
  std::string text;      // as matchable() makes it
  bool literal = false;  // it was quoted: its stars are stars
  bool operator==(const SearchValue&) const = default;
};

struct SearchTerm {
  bool negated = false;
  std::optional<SearchField> field;  // none: a word that may stand in anything that the page prints
  std::vector<SearchValue> values;   // at least one, and none of them is empty
  bool operator==(const SearchTerm&) const = default;
};

using SearchQuery = std::vector<SearchTerm>;

inline constexpr std::size_t kMostSearchBytes = 4096;
inline constexpr std::size_t kMostSearchValues = 64;

absl::StatusOr<SearchQuery> parse_search(std::string_view text);

// Both what is looked for and what it is looked for in are compared in this form: in lower case, underscores as blanks,
// -> as an arrow. So "cache_disabled" and "cache disabled" are one, and "fp32->bf16" is "fp32→bf16".
std::string matchable(std::string_view text);

// Whether the whole of `text` is this value. Both are in the form of matchable().
bool is_value(const SearchValue& value, std::string_view text);

}  // namespace castscope::web
