// The folder in which castscope keeps what it has made for jobs: the preload library, agents, sources, the Python
// package. All of it is loaded into jobs, so nobody else may write there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace castscope::cli {

using Say = std::function<void(const std::string& sentence)>;

// What is kept decides which folders will do. A path in PYTHONPATH or in CASTSCOPE_AGENTS has no colon, and one in
// LD_PRELOAD no blank either: they have no quotes. A library cannot be loaded from a file system that is mounted
// noexec.
enum class Kept { kPackage, kAgent, kPreload };

bool fits_into_ld_preload(const std::string& path);

// Makes …/castscope/<hash of this program's sources>-<architecture>, below XDG_CACHE_HOME, ~/.cache or else a folder
// for temporary files, and returns its path. An error names the folders that were tried, and what is wrong.
absl::StatusOr<std::string> cache_folder(Kept kept);

// Returns those of these folders that are there, the preferred one first. One that cannot be written now, as on a file
// system that is mounted read-only, is among them: what it has is good.
std::vector<std::string> cache_folders(Kept kept);

// Returns "/home/me/.cache/castscope is not used: others can write it", of the folders that are preferred to the one
// that cache_folder() returns; "" = none.
std::string folders_passed_over(Kept kept);

// Whether the file in such a folder is yours: nobody else could have made it, since the folder is closed, but who owns
// it can change it.
bool is_own_file(const std::string& path);

// Whether libraries can be loaded from there.
bool is_noexec(const std::string& folder);

// Held by the process that looks for an agent in the folder, unpacks one there, or builds one.
class FolderLock {
 public:
  // Waits for another process that holds it. If that one builds, which takes long, it says so, where `say` is not null.
  FolderLock(const std::string& folder, const Say* say);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();
  // From now on those who wait are told that they wait for a build.
  void note_build();

 private:
  bool holder_builds() const;
  int fd_;
};

}  // namespace castscope::cli
