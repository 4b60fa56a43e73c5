#include "server/cli/commands/input_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace castscope::cli {
namespace {

bool is_report(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;  // a pipe would keep us waiting
  std::ifstream stream(file, std::ios::binary);
  char first = '\0';
  if (!(stream >> first) || first != '{') return false;
  stream.seekg(0);
  const auto json = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains("format") && json.contains("run") && json.contains("totals");
}

}  // namespace

absl::Status about_input(const std::string& file, const absl::Status& status) {
  if (status.ok() || access(file.c_str(), R_OK) == 0) return status;
  return {status.code(), absl::StrCat(file, " cannot be read: ", std::strerror(errno))};
}

absl::Status about_run_file(const std::string& file, const absl::Status& status) {
  if (!absl::IsInvalidArgument(status) || !is_report(file)) return about_input(file, status);
  return absl::InvalidArgumentError(
      absl::StrCat(file,
                   " is a report, not a run file: give the run file that it was made from (NAME.castscope); of a "
                   "report, `castscope check` and `castscope diff` can be asked"));
}

}  // namespace castscope::cli
