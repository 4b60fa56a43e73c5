#include "server/cli/toolkit/embedded.h"

#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/cli/toolkit/fresh_file.h"
#include "server/files/plain_file.h"

// These come from the assembler file that cmake/EmbedSources.cmake writes: name, begin and end of each file, with a
// null at the end of the list.
extern "C" {
struct castscope_embedded_entry {
  const char* path;
  const char* begin;
  const char* end;
};
extern const castscope_embedded_entry castscope_embedded[];
extern const castscope_embedded_entry castscope_carried_files[];
}

namespace castscope::cli {
namespace {

std::vector<EmbeddedFile> listed(const castscope_embedded_entry* entry) {
  std::vector<EmbeddedFile> result;
  for (; entry->path != nullptr; entry++)
    result.push_back({entry->path, {entry->begin, static_cast<std::size_t>(entry->end - entry->begin)}});
  return result;
}

}  // namespace

std::span<const EmbeddedFile> embedded_files() {
  static const auto* files = new std::vector<EmbeddedFile>(listed(castscope_embedded));
  return *files;
}

std::string_view carried(std::string_view name) {
  for (const EmbeddedFile& file : listed(castscope_carried_files))
    if (file.path == name) return file.content;
  return "";
}

bool holds(const std::string& path, std::string_view content) {
  const absl::StatusOr<std::string> text = files::read_plain(path);
  return text.ok() && *text == content;
}

absl::Status write_source(const std::string& path, std::string_view content) {
  if (holds(path, content)) return absl::OkStatus();
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  FreshFile fresh(path);
  fresh.stream().write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!fresh.keep()) return absl::UnavailableError(absl::StrCat(path, " cannot be written"));
  return absl::OkStatus();
}

absl::Status extract_sources(const std::string& folder) {
  for (const auto& file : embedded_files()) {
    const absl::Status status = write_source(absl::StrCat(folder, "/", std::string(file.path)), file.content);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace castscope::cli
