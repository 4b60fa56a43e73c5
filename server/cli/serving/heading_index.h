// Keeps the headings of finished run files, so that a collector that starts on a folder of ten thousand runs opens none
// of these files. docs/decisions/collector-start.md has the reasons.
//
// A heading is kept for a file of this name, inode, size and times, which has no log of SQLite's beside it. Any other
// file is read. Headings are kept in memory, and in `.castscope-serve.index` in the folder: a line that says for which
// castscope it is, and one for each heading, with a checksum. What is not as it was written counts as not there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/store/read/run_heading.h"

namespace castscope::cli {

class HeadingIndex {
 public:
  // A file may change twice within one tick of its file system's clock: what is read so soon after a change is not
  // kept.
  static constexpr std::int64_t kSettledNs = 2'000'000'000;

  using Clock = std::function<std::int64_t()>;  // ns since 1970

  HeadingIndex(std::string folder, Clock clock);
  ~HeadingIndex();
  HeadingIndex(const HeadingIndex&) = delete;
  HeadingIndex& operator=(const HeadingIndex&) = delete;

  // Returns the heading of a run file in the folder, without the run's policy, which is the largest part of it. The
  // errors are those of store::read_heading().
  absl::StatusOr<store::RunHeading> read(const std::string& run_file);
  // The file was removed.
  void forget(const std::string& run_file);
  // Takes out what is kept for files that are not there any more, or are other ones. To be called once all files of the
  // folder were read.
  void tidy();
  std::size_t files_opened() const { return files_opened_; }

 private:
  struct Version {
    std::uint64_t inode = 0, size = 0;
    std::int64_t modified_ns = 0, changed_ns = 0;
    bool operator==(const Version&) const = default;
  };
  struct Entry {
    Version version;
    std::string heading;  // as JSON
  };
  static std::optional<Version> finished_version(const std::string& run_file);
  static std::string line_of(const std::string& name, const Entry& entry);
  void keep(const std::string& run_file, const Version& version, const store::RunHeading& heading);
  void load();
  bool take_line(const std::string& line);
  void append(const std::string& line);
  void write_anew();

  const std::string folder_, path_;
  const Clock clock_;
  std::atomic<std::size_t> files_opened_ = 0;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // by the name of the file
  bool loaded_ = false;
  bool given_up_ = false;  // it cannot be written: until the next start it is kept in memory alone
  std::size_t lines_ = 0;  // of the file; entries may have several
  int file_ = -1;          // -1: what is in the index's place is not written on, but replaced
};

}  // namespace castscope::cli
