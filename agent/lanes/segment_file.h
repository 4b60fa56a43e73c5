// The memory of a segment: a file in the run directory that is mapped once and then needs neither its descriptor nor
// its path any more. The job may close every file that it did not open, give up the right to the run directory, change
// its root: what is mapped stays, and grows.
//
// The file has its full size from the start and takes no memory until it is reserved; a page that is not reserved must
// not be touched, since on a full /dev/shm that is a SIGBUS. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

namespace castscope::lanes {

class SegmentFile {
 public:
  // Creates <directory>/<pid>-<n>.lanes, with the first free n. Returns nullptr with a sentence in `error`; nothing is
  // left behind then.
  static std::unique_ptr<SegmentFile> create(const std::string& directory, std::uint64_t max_bytes, std::string* error);
  ~SegmentFile();  // the file stays
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;

  char* base() const { return base_; }
  const std::string& path() const { return path_; }
  std::uint32_t number() const { return number_; }  // the n in the path
  const std::string& directory() const { return directory_; }
  std::uint64_t max_bytes() const { return max_bytes_; }  // less than asked for if `ulimit -f` is lower
  std::uint64_t start_ticks() const { return start_ticks_; }
  void remove() const;

  // Makes [0, end) backed by memory, zeroed. Returns false, with errno, when there is no room for it; then nothing is
  // taken.
  bool reserve(std::uint64_t end);
  std::uint64_t reserved() const { return reserved_; }
  // The bytes that its file system has left, as far as it can be told.
  std::uint64_t free_bytes();

 private:
  SegmentFile() = default;
  bool map(int fd, std::uint64_t max_bytes, std::string* error);

  std::string directory_, path_;
  char* base_ = nullptr;
  std::uint64_t max_bytes_ = 0, reserved_ = 0, free_bytes_ = 0, start_ticks_ = 0;
  std::uint32_t number_ = 0;
};

// Field 22 of /proc/PID/stat of the calling process; 0 when it cannot be read.
std::uint64_t own_start_ticks();

}  // namespace castscope::lanes
