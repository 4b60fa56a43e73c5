#include "server/store/file/row_schema.h"

#include <type_traits>

#include "server/store/run/row_definitions.h"

namespace castscope::store {
namespace {

template <typename Row>
std::string tables_of() {
  std::string columns = "id INTEGER PRIMARY KEY";
  Row row;
  Row::columns(row, [&](const char* name, auto& value) {
    const bool is_text = std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string>;
    columns.append(", ").append(name).append(is_text ? " TEXT" : " INTEGER");
  });
  // Counts are absolute. id: process << 48 | lane << 32 | the number that the process gave it.
  return std::string("CREATE TABLE ") + Row::kTable + " (" + columns + ");\nCREATE TABLE " + Counted<Row>::kTable +
         " (id INTEGER PRIMARY KEY, process INTEGER, lane INTEGER, " + Counted<Row>::kColumn + " INTEGER, " +
         Row::kTimes + " INTEGER);\n";
}

}  // namespace

std::string row_tables() {
#define CASTSCOPE_TABLES(Type, ...) +tables_of<Type>()
  return std::string() CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_TABLES);
#undef CASTSCOPE_TABLES
}

}  // namespace castscope::store
