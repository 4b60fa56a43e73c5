// The values that a field has in a run, for those who have begun to type one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/timeline/timeline.h"
#include "server/web/search/searched_run.h"

namespace castscope::web {

struct FieldValue {
  std::string value;
  std::string shown_name;    // what the page prints for it; "" = the value itself
  std::uint64_t events = 0;  // that a search for it finds in the timeline
};

// Those that have the text in their value or name, the most frequent first. An empty text is in all.
std::vector<FieldValue> field_values(const SearchedRun& run, const timeline::Timeline& timeline, SearchField field,
                                     std::string_view text);

}  // namespace castscope::web
