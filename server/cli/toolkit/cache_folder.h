// The folder in which castscope keeps what it has made for jobs: the preload library, agents, sources, the Python
// package. All of it is loaded into jobs, so nobody else may write there.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace castscope::cli {

using Say = std::function<void(const std::string& sentence)>;

// What is kept decides which folders will do. A path in PYTHONPATH or in CASTSCOPE_AGENTS has no colon, and one in
// LD_PRELOAD no blank either: they have no quotes. A library cannot be loaded from a file system that is mounted
// noexec.
enum class Kept { kPackage, kAgent, kPreload };

bool fits_into_ld_preload(const std::string& path);

// Returns …/castscope/<hash of this program's sources>-<architecture>, below XDG_CACHE_HOME, ~/.cache or else a folder
// for temporary files. It is made if `make` is set. An error names the folders that were tried, and what is wrong.
absl::StatusOr<std::string> cache_folder(Kept kept, bool make);

// Whether libraries can be loaded from there.
bool is_noexec(const std::string& folder);

// Held by the process that builds in the folder.
class FolderLock {
 public:
  // Waits for another process that holds it, and says so. `say` is null for who needs the folder for a moment only:
  // others like it are the rule.
  FolderLock(const std::string& folder, const Say* say);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  int fd_;
};

}  // namespace castscope::cli
