#include "server/store/source_tables.h"

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
  auto rows = Statement::prepare(database,
                                 "SELECT f.file, f.state, l.line, l.text FROM source_files f "
                                 "LEFT JOIN source_lines l ON l.file = f.id ORDER BY f.id, l.line");
  if (!rows.ok()) return rows.status();
  SourceFile file;
  bool any = false;
  for (;;) {
    const auto more = rows->next();
    if (!more.ok()) return more.status();
    if (!*more) break;
    std::string name = rows->text(0);
    if (!any || name != file.file) {
      if (any) source.add(std::move(file));
      file = {.file = std::move(name), .state = SourceState::kKept, .lines = {}};
      const std::int64_t state = rows->number(1);
      if (state < 0 || state > static_cast<int>(SourceState::kTooLarge))
        return absl::DataLossError(absl::StrCat(database.path(), ": the run file is damaged: its source lines"));
      file.state = static_cast<SourceState>(state);
      any = true;
    }
    if (!rows->is_null(2)) file.lines[rows->number(2)] = rows->text(3);
  }
  if (any) source.add(std::move(file));
  return absl::OkStatus();
}

}  // namespace castscope::store
