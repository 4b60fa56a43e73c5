// The fields that a search can ask for, `cause:` and its like, and the words that are known for each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/lanes/format.h"
#include "server/timeline/tracks/tracks.h"

namespace castscope::web {

enum class SearchField : std::uint8_t {
  kCause,
  kRole,
  kDtype,
  kFrom,
  kTo,
  kModule,
  kModel,
  kOp,
  kArgument,
  kWeight,
  kRule,
  kFile,
  kFunction,
  kStack,
  kKind,
  kPhase,
  kCache,
  kRegion,
};

struct FieldInfo {
  SearchField field{};
  std::string_view name;
  std::string_view alias;    // what reports call it; "" = the same
  std::string_view meaning;  // for people who choose a field
};

// In the order in which they are suggested.
std::span<const FieldInfo> search_fields();
// By its name or alias, in lower case; null: there is none of that name.
const FieldInfo* find_field(std::string_view name);
std::string_view name(SearchField);

// `kind:cast` is down, up and same together.
inline constexpr std::string_view kAnyCast = "cast";
// `cache:kept` is what the cache kept or served.
inline constexpr std::string_view kWasKept = "kept";

// The words that a field can have; empty: any text.
std::vector<std::string> closed_list(SearchField);
// Other ways to write a word of a closed list: the name that the page prints, a dtype's short name.
std::vector<std::string> other_words(SearchField, std::string_view word);

// "fp32"; a dtype without a short name has its own.
std::string_view short_dtype(std::string_view dtype);
// The names that the page prints (ui/src/model/looks/colours.ts has the same): "explicit to()", "cast down".
std::string_view shown_name(lanes::Cause);
std::string_view shown_name(timeline::ShadeKind);
// What `kind:` calls it: "down", "hit".
std::string_view kind_word(timeline::ShadeKind);

}  // namespace castscope::web
