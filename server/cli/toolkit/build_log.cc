#include "server/cli/toolkit/build_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "agent/hash/fnv1a.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/recipe.h"
#include "server/files/plain_file.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

std::string state_of(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return absl::StrCat(path, " is not there\n");
  return absl::StrCat(path, " ", info.st_ino, " ", info.st_size, " ", info.st_mtim.tv_sec, " ", info.st_mtim.tv_nsec,
                      "\n");
}

// A text that changes with whatever a build depends on. Installing a package changes the time of a folder in which it
// puts a header.
std::string built_from(const TorchInstall& torch) {
  std::string text;
  for (const std::string& word : cxx_compiler()) absl::StrAppend(&text, word, " ", state_of(find_in_path(word)));
  for (const std::string& folder : torch.include_folders)
    absl::StrAppend(&text, state_of(folder), state_of(folder + "/torch/version.h"), state_of(folder + "/ATen/ATen.h"));
  for (const char* folder : {"/usr/include", "/usr/local/include"}) absl::StrAppend(&text, state_of(folder));
  return absl::StrFormat("built from %016x", castscope_fnv1a(CASTSCOPE_FNV1A_START, text.data(), text.size()));
}

// "casting.cc:35:7: error: …" → "error: …"
std::string complaint_in(const std::string& messages) {
  for (absl::string_view line : absl::StrSplit(messages, '\n')) {
    for (const char* word : {"fatal error: ", "error: ", "undefined reference"}) {
      if (const std::size_t at = line.find(word); at != absl::string_view::npos)
        return std::string(line.substr(at, 200));
    }
  }
  return "it does not say why";
}

}  // namespace

BuildLog::BuildLog(const std::string& output, const TorchInstall& torch)
    : path_(output + ".log"), built_from_(built_from(torch)) {}

// The file has what it was built from, then what to say, then the compiler's messages.
std::string BuildLog::failure() const {
  std::istringstream file(files::text_or_nothing(path_));
  std::string first, said;
  return std::getline(file, first) && first == built_from_ && std::getline(file, said) ? said : "";
}

absl::Status BuildLog::keep(const absl::Status& status) const {
  unlink(path_.c_str());
  std::string said(status.message());
  if (absl::IsUnknown(status)) {
    if (absl::StrContains(said, strerror(ENOSPC)))
      return absl::UnavailableError(absl::StrCat("there is no room for it in ", fs::path(path_).parent_path().string(),
                                                 ", or in the compiler's folder for temporary files"));
    said = absl::StrCat("the compiler fails (", complaint_in(said), "), with the messages in ", path_);
  } else if (!absl::IsFailedPrecondition(status)) {
    return status;
  }
  std::ofstream(path_) << built_from_ << "\n" << said << "\n" << status.message() << "\n";
  return absl::Status(absl::IsUnknown(status) ? absl::StatusCode::kUnavailable : status.code(), said);
}

}  // namespace castscope::cli
