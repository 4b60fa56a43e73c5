// The statement that writes a row of counts, which are absolute: of two that came for one row, the larger ones stay.
#pragma once

#include <initializer_list>
#include <string>

#include "absl/strings/str_cat.h"

namespace castscope::store {

// The columns are id, process, lane, `of` (what is counted), and `counts`.
inline std::string put_counts_sql(const char* table, const char* of, std::initializer_list<const char*> counts) {
  std::string places = "?,?,?,?", larger = absl::StrCat(of, " = excluded.", of);
  for (const char* count : counts) {
    places += ",?";
    absl::StrAppend(&larger, ", ", count, " = max(", count, ", excluded.", count, ")");
  }
  return absl::StrCat("INSERT INTO ", table, " VALUES (", places, ") ON CONFLICT (id) DO UPDATE SET ", larger);
}

}  // namespace castscope::store
