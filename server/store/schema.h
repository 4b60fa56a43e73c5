// The tables and views of a run file. docs/run-file.md explains them to whoever opens one with the sqlite3 shell.
#pragma once

#include <cstdint>

namespace castscope::store {

inline constexpr std::int32_t kApplicationId = 0x43415354;  // "CAST": PRAGMA application_id
inline constexpr std::int32_t kFormat = 2;                  // PRAGMA user_version; another one is refused

extern const char* const kTables;
extern const char* const kViews;

}  // namespace castscope::store
