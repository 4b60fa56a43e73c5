// The functions of SQL that a query of somebody else may call.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"

namespace castscope::store {

// True for functions that only reckon, in time that grows with the length of their arguments and no faster: SQLite does
// not ask whether to go on while one of them runs. Others of SQLite take a pointer from the query (fts3_tokenizer), run
// statements of their own (rtreecheck) or compare each with each (json_patch).
bool may_be_called(std::string_view function);

// Replaces trim, ltrim, rtrim, instr and replace on this connection. Their results are SQLite's own; SQLite's take time
// that grows with the product of the lengths of their arguments: hours for two texts of some megabytes.
absl::Status make_linear(const Database& database);

}  // namespace castscope::store
