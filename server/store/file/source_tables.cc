#include "server/store/file/source_tables.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace castscope::store {

absl::Status write_source(Database& database, const SourceLines& source) {
  CASTSCOPE_RETURN_IF_ERROR(database.exec("DELETE FROM source_lines; DELETE FROM source_files"));
  auto add_file = Statement::prepare(database, "INSERT INTO source_files VALUES (?,?,?)");
  if (!add_file.ok()) return add_file.status();
  auto add_line = Statement::prepare(database, "INSERT INTO source_lines VALUES (?,?,?)");
  if (!add_line.ok()) return add_line.status();
  std::int64_t id = 0;
  for (const auto& [name, file] : source.files()) {
    CASTSCOPE_RETURN_IF_ERROR(add_file->run(++id, name, static_cast<int>(file.state)));
    for (const auto& [number, text] : file.lines) CASTSCOPE_RETURN_IF_ERROR(add_line->run(id, number, text));
  }
  return absl::OkStatus();
}

absl::Status read_source(const Database& database, SourceLines& source) {
  SourceFile file;
  bool any = false, good = true;
  CASTSCOPE_RETURN_IF_ERROR(each(database,
                                 "SELECT f.file, f.source_state, l.line, l.source_text FROM source_files f "
                                 "LEFT JOIN source_lines l ON l.source_file = f.id ORDER BY f.id, l.line",
                                 [&](const Statement& row) {
                                   std::string name = row.text(0);
                                   if (!any || name != file.file) {
                                     if (any) source.add(std::move(file));
                                     const std::int64_t state = row.number(1);
                                     good &= state >= 0 && state <= static_cast<int>(SourceState::kTooLarge);
                                     file = {.file = std::move(name),
                                             .state = good ? static_cast<SourceState>(state) : SourceState::kNotText,
                                             .lines = {}};
                                     any = true;
                                   }
                                   if (!row.is_null(2)) file.lines[row.number(2)] = row.text(3);
                                 }));
  if (any) source.add(std::move(file));
  return none_lost(database, good ? 0 : 1, "its source lines");
}

}  // namespace castscope::store
