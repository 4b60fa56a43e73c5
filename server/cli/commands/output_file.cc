#include "server/cli/commands/output_file.h"

#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/fail.h"
#include "server/cli/toolkit/fresh_file.h"
#include "server/report/text/words.h"

namespace castscope::cli {
namespace {

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat a, b;
  return stat(one.c_str(), &a) == 0 && stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// SQLite would take a file of such a name, once it exists, for a part of the run.
bool is_part_of(const std::string& run_file, const std::string& output) {
  namespace fs = std::filesystem;
  if (is_same_file(run_file, output)) return true;
  const std::string folder = fs::path(output).parent_path().string(),
                    of_run = fs::path(run_file).parent_path().string();
  const bool same_folder = is_same_file(folder.empty() ? "." : folder, of_run.empty() ? "." : of_run);
  const std::string name = fs::path(output).filename().string(), run_name = fs::path(run_file).filename().string();
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    if (is_same_file(run_file + suffix, output) || (same_folder && name == run_name + suffix)) return true;
  }
  return false;
}

}  // namespace

bool to_stdout(const std::string& output) { return output.empty() || output == "-"; }

absl::Status refuse_output(const std::string& output, const std::vector<std::string>& inputs, bool force) {
  if (to_stdout(output)) return absl::OkStatus();
  std::error_code error;
  for (const std::string& input : inputs) {
    if (input.empty()) continue;
    const std::filesystem::path real = std::filesystem::canonical(input, error);  // SQLite's files are beside it
    const std::string file = error ? input : real.string();
    if (is_part_of(file, output))
      return absl::InvalidArgumentError(absl::StrCat(
          output, " is ", input == inputs.front() ? "the run" : "the baseline", " itself: choose another file"));
  }
  if (force || !std::filesystem::is_regular_file(output, error)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(output, " exists: choose another file, or --force"));
}

int into_output(const std::string& output, const std::function<absl::Status(std::ostream&)>& write) {
  if (to_stdout(output)) {
    const absl::Status status = write(std::cout);
    if (!std::cout) return fail(absl::UnavailableError("standard output cannot be written"), kUsage);
    return status.ok() ? 0 : fail(status, kIncompleteData);
  }
  FreshFile file(output, FreshFile::Special::kWritten);
  const auto cannot = [&] {
    return fail(absl::UnavailableError(absl::StrCat(output, " cannot be written: ", std::strerror(file.error()),
                                                    "; choose another -o FILE")),
                kUsage);
  };
  if (!file.is_open()) return cannot();
  const absl::Status status = write(file.stream());
  const bool all_readable = absl::IsDataLoss(status) && !file.is_empty();  // the file is damaged or cut short
  if (!file.stream() || status.ok() || all_readable) {
    if (!file.keep()) return cannot();
  }
  return status.ok() ? 0 : fail(status, kIncompleteData);
}

}  // namespace castscope::cli
