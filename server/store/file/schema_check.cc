#include "server/store/file/schema_check.h"

#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/store/file/row_schema.h"
#include "server/store/file/schema.h"

namespace castscope::store {
namespace {

constexpr char kObjects[] = "SELECT type, name, sql FROM sqlite_master";

// SQL is the same however its lines are broken.
std::string in_one_line(std::string sql) {
  absl::RemoveExtraAsciiWhitespace(&sql);
  return sql;
}

// The SQL of each table that a new file has, by its name.
std::map<std::string, std::string> tables_of_new_file() {
  std::map<std::string, std::string> tables;
  auto empty = Database::open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY);
  if (!empty.ok()) return tables;
  const std::string rows = row_tables();
  for (const char* const some : {kTables, kDeepTables, kGpuTables, rows.c_str()}) empty->exec(some).IgnoreError();
  each(*empty, kObjects, [&](const Statement& row) {
    if (row.text(0) == "table") tables[row.text(1)] = row.text(2);
  }).IgnoreError();
  return tables;
}

std::string problem_of(const std::string& type, const std::string& name, const std::string& sql) {
  static const auto* const tables = new std::map<std::string, std::string>(tables_of_new_file());
  if (type == "trigger") return absl::StrCat("it has a trigger (", name, "), and castscope makes none");
  const auto known = tables->find(absl::AsciiStrToLower(name));
  if (known == tables->end()) return "";
  if (type != "table") return absl::StrCat(known->first, " is a table in castscope's files, and here a ", type);
  const bool same = sql == known->second || in_one_line(sql) == in_one_line(known->second);
  return same ? "" : absl::StrCat("the table ", known->first, " is another one");
}

}  // namespace

absl::Status check_schema(const Database& database) {
  std::string problem;
  const absl::Status status = each(database, kObjects, [&](const Statement& row) {
    if (problem.empty()) problem = problem_of(row.text(0), row.text(1), row.text(2));
  });
  if (problem.empty()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(database.path(), ": this file was not written by castscope, or was changed since: ", problem));
}

}  // namespace castscope::store
