// Keeps a second collector away from a folder. The lock ends with the process, however that ends.
//
// Two locks are held: one on a file in the folder, which older collectors look at, and one on the folder itself, which
// nobody can remove. Where the file system knows no locks on folders, such as NFS, the file alone is locked.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace castscope::cli {

class CollectorLock {
 public:
  // ALREADY_EXISTS, with a sentence that names the other process where that is known: another collector has the folder.
  // Where the file system knows no locks, nobody is kept away.
  static absl::StatusOr<std::unique_ptr<CollectorLock>> take(const std::string& folder);
  ~CollectorLock();
  CollectorLock(const CollectorLock&) = delete;
  CollectorLock& operator=(const CollectorLock&) = delete;

  // A sentence if the folder was removed, or another one is in its place, which this lock does not keep; "" = neither.
  std::string folder_trouble() const;
  // Makes and locks the file again if somebody removed it. The error is take()'s: an older collector has it meanwhile.
  absl::Status restore_file();

 private:
  explicit CollectorLock(std::string folder);
  absl::Status lock_file();
  absl::Status lock_folder();
  bool has_file() const;

  const std::string folder_, path_;
  int file_ = -1, folder_descriptor_ = -1;
  dev_t device_ = 0;  // of the folder
  ino_t inode_ = 0;
};

}  // namespace castscope::cli
