// Keeps a second collector away from a folder. The lock ends with the process, however that ends.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace castscope::cli {

class CollectorLock {
 public:
  // ALREADY_EXISTS, with a sentence that names the other process: another collector has the folder. Where the file
  // system knows no locks, nobody is kept away.
  static absl::StatusOr<std::unique_ptr<CollectorLock>> take(const std::string& folder);
  ~CollectorLock();
  CollectorLock(const CollectorLock&) = delete;
  CollectorLock& operator=(const CollectorLock&) = delete;

 private:
  explicit CollectorLock(int file) : file_(file) {}
  const int file_;
};

}  // namespace castscope::cli
