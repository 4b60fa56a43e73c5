#include "server/cli/commands/input_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "server/report/compare/account.h"

namespace castscope::cli {
namespace {

bool is_report(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;  // a pipe would keep us waiting
  if (std::filesystem::file_size(file, error) > report::kMostReportBytes || error) return false;
  std::ifstream stream(file, std::ios::binary);
  char first = '\0';
  if (!(stream >> first) || first != '{') return false;
  stream.seekg(0);
  const auto json = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains("format") && json.contains("run") && json.contains("totals");
}

// Returns the run file that may be meant: one of the same name, or the newest in a folder; "" = there is none.
std::string run_file_near(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_directory(file, error)) {
    std::string newest;
    fs::file_time_type written{};
    for (fs::directory_iterator at(file, error); !error && at != fs::directory_iterator(); at.increment(error)) {
      std::error_code ignored;
      const fs::file_time_type time = at->last_write_time(ignored);
      if (at->path().extension() != ".castscope" || (!newest.empty() && time <= written)) continue;
      newest = at->path().lexically_normal().string();
      written = time;
    }
    return newest;
  }
  for (const std::string& name : {fs::path(file).replace_extension(".castscope").string(), file + ".castscope"})
    if (name != file && fs::is_regular_file(name, error)) return name;
  return "";
}

}  // namespace

absl::Status about_input(const std::string& file, const absl::Status& status) {
  if (status.ok() || access(file.c_str(), R_OK) == 0) return status;
  return {status.code(), absl::StrCat(file, " cannot be read: ", std::strerror(errno))};
}

absl::Status about_run_file(const std::string& file, const absl::Status& status) {
  const absl::Status plain = about_input(file, status);
  const bool is_unreadable = access(file.c_str(), R_OK) != 0;
  if (status.ok() || !(absl::IsInvalidArgument(status) || is_unreadable)) return plain;
  const std::string near = run_file_near(file);
  if (!is_unreadable && is_report(file))
    return absl::InvalidArgumentError(
        absl::StrCat(file, " is a report, not a run file: give ",
                     near.empty() ? "the run file that it was made from (NAME.castscope)" : near,
                     "; of a report, `castscope check` and `castscope diff` can be asked"));
  if (is_unreadable && near.empty()) return plain;
  return {plain.code(), absl::StrCat(plain.message(), "; give ",
                                     near.empty() ? "the run file that `castscope run` wrote (NAME.castscope)" : near)};
}

}  // namespace castscope::cli
