// Reads a zip archive from an untrusted source: it checks sizes against limits before it unpacks anything, and contents
// against their checksums.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace castscope::exported {

// Decides by the first bytes; a file that cannot be read is not a zip archive.
bool is_zip(const std::string& file);

class ZipArchive {
 public:
  struct Entry {
    std::string name;
    std::uint64_t size = 0;  // unpacked, as the archive says
  };

  static absl::StatusOr<ZipArchive> open(const std::string& file);

  const std::vector<Entry>& entries() const { return entries_; }  // in the archive's order
  bool has(const std::string& name) const { return find(name) != nullptr; }
  const Entry* find(const std::string& name) const;  // null when there is none
  // Returns the whole entry; an error when it is damaged, or larger than `most`, whatever size the archive claims.
  absl::StatusOr<std::string> read(const std::string& name, std::uint64_t most) const;

 private:
  struct Close {
    void operator()(void* handle) const;
  };

  std::unique_ptr<void, Close> handle_;  // minizip's
  std::vector<Entry> entries_;
};

}  // namespace castscope::exported
