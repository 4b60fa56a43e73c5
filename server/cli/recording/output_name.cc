#include "server/cli/recording/output_name.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/cli/toolkit/fresh_file.h"
#include "server/utf8/utf8.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

bool exists(const Output& output) {
  std::error_code error;
  return fs::exists(fs::symlink_status(output.run_file(), error)) ||
         fs::exists(fs::symlink_status(output.report_file(), error));
}

Output unused(const fs::path& folder, const std::string& name, OutputClaim& claim) {
  Output output{(folder / name).string()};
  // The file is looked for again under the claim: the holder before may have left one.
  for (int n = 2; exists(output) || !claim.take(output.stem) || exists(output); n++)
    output.stem = (folder / absl::StrCat(name, "-", n)).string();
  return output;
}

std::string printable(std::string name) {
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && std::strchr("._-", c) == nullptr) c = '_';
  }
  while (!name.empty() && (name[0] == '.' || name[0] == '-')) name.erase(0, 1);
  name.resize(std::min<std::size_t>(name.size(), 64));
  return name.empty() ? "run" : name;
}

// Whether this module runs another script or module, which the user names.
bool starts_others(const std::string& module) {
  constexpr const char* kLaunchers[] = {"torch.distributed.run",
                                        "torch.distributed.launch",
                                        "torch.utils.bottleneck",
                                        "accelerate.commands.launch",
                                        "cProfile",
                                        "pdb",
                                        "trace",
                                        "coverage"};
  return std::find(std::begin(kLaunchers), std::end(kLaunchers), module) != std::end(kLaunchers);
}

// Jupyter's server tells its kernels which notebook they are for.
std::string name_of_notebook() {
  const char* const path = getenv("JPY_SESSION_NAME");
  const std::string stem = path != nullptr ? fs::path(path).stem().string() : "";
  return stem.empty() ? "notebook" : printable(stem);
}

absl::StatusOr<fs::path> absolute(const std::string& path) {
  std::error_code error;
  fs::path result = path.empty() ? fs::current_path(error) : fs::absolute(path, error);
  if (error) return absl::UnavailableError("the working directory is gone, and nothing can be written into it");
  return result;
}

// A file system takes 255 bytes for the name of a file; the names of SQLite's files are up to 14 bytes longer than the
// stem. The rank, which keeps names apart, stands behind what was shortened.
constexpr std::size_t kLongestName = 230, kLongestBeforeRank = 200;

std::string with_short_name(const fs::path& stem, std::size_t most) {
  const std::string name = stem.filename().string();
  if (name.size() <= most) return stem.string();
  return (stem.parent_path() / name.substr(0, utf8::cut(name, most))).string();
}

// The file will be made anew, and whatever has its name is removed: so it is tried whether a file can be made beside
// it. The name itself is not opened. Somebody may have put a link there, whose end would be made, or a pipe, whose
// writer waits for a reader.
absl::Status check_file(const std::string& path) {
  const auto cannot = [&path](int error) {
    return absl::UnavailableError(absl::StrCat(path, " cannot be written: ", strerror(error)));
  };
  struct stat info {};
  const bool exists = lstat(path.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) return cannot(errno);
  if (exists && S_ISDIR(info.st_mode)) return cannot(EISDIR);
  if (exists && S_ISREG(info.st_mode) && access(path.c_str(), W_OK) != 0) return cannot(errno);
  const FreshFile beside(path);  // which removes it again
  return beside.is_open() ? absl::OkStatus() : cannot(beside.error());
}

}  // namespace

std::string without_suffix(const std::string& wish) {
  fs::path whole(wish);
  while (whole.extension() == ".castscope" || whole.extension() == ".json") whole.replace_extension();
  return whole.string();
}

std::string telling_name(const std::vector<std::string>& command) {
  std::string launcher;
  for (std::size_t i = 1; i < command.size(); i++) {
    const std::string& word = command[i];
    if (absl::EndsWith(word, ".py") || absl::EndsWith(word, ".pyz")) return printable(fs::path(word).stem().string());
    if (word == "-m" && i + 1 < command.size()) {
      const std::string& module = command[++i];
      const std::string name = printable(module.substr(module.rfind('.') + 1));
      if (module == "ipykernel_launcher" || module == "ipykernel") return name_of_notebook();
      if (!starts_others(module)) return name;
      launcher = name;
      continue;
    }
    if (word == "-c") break;
    std::error_code error;
    if (i == 1 && word[0] != '-' && fs::exists(fs::path(word) / "__main__.py", error)) {
      return printable(fs::path(word.substr(0, word.find_last_not_of('/') + 1)).filename().string());
    }
  }
  if (!launcher.empty()) return launcher;
  return command.empty() ? "run" : printable(fs::path(command[0]).stem().string());
}

std::string named_for_rank(const std::string& wish, const std::string& rank) {
  std::error_code error;
  if (wish.empty() || rank.empty() || absl::EndsWith(wish, "/") || fs::is_directory(wish, error)) return wish;
  return absl::StrCat(with_short_name(without_suffix(wish), kLongestBeforeRank), "-", rank);
}

absl::StatusOr<Output> choose_output(const std::string& wish, const std::vector<std::string>& command,
                                     const std::string& when, bool force, OutputClaim& claim) {
  std::string name = absl::StrCat(telling_name(command), "-", when);
  std::error_code error;
  bool is_folder = fs::is_directory(wish, error) || absl::EndsWith(wish, "/");
  auto place = absolute(is_folder || wish.empty() ? wish : without_suffix(wish));
  if (!place.ok()) return place.status();
  if (is_folder) fs::create_directories(*place, error);
  if (is_folder || wish.empty()) return unused(*place, name, claim);
  Output output{with_short_name(*place, kLongestName)};
  if (!claim.take(output.stem)) {
    return absl::AlreadyExistsError(
        absl::StrCat(output.run_file(), " is being written by another castscope: choose another -o NAME"));
  }
  if (exists(output) && !force) {
    claim.release();
    return absl::AlreadyExistsError(
        absl::StrCat("there is already a ", output.stem, ".castscope or .json: choose another -o NAME, or --force"));
  }
  fs::create_directories(fs::path(output.stem).parent_path(), error);
  return output;
}

absl::Status check_writable(const Output& output) {
  std::error_code error;
  if (fs::is_other(output.stem, error)) {
    return absl::UnavailableError(
        absl::StrCat(output.stem, " cannot be written: it is a device, not a file or folder"));
  }
  absl::Status status = check_file(output.run_file());
  return status.ok() ? check_file(output.report_file()) : status;
}

Output fallback_output(const std::vector<std::string>& command, const std::string& when, OutputClaim& claim) {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  return unused(error ? fs::path("/tmp") : folder, absl::StrCat(telling_name(command), "-", when), claim);
}

std::string time_for_names(const std::string& rank) {
  std::time_t now = std::time(nullptr);
  std::tm fields{};
  localtime_r(&now, &fields);
  char text[32];
  std::strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &fields);
  return rank.empty() ? text : absl::StrCat(rank, "-", text);
}

}  // namespace castscope::cli
