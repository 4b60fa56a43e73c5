// What a list of runs tells of a run file. A list of thousands must not open them all each time: a file that has not
// changed since it was read is not read again.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/store/read/run_heading.h"
#include "server/web/runs/run_source.h"

namespace castscope::web {

class FileHeading {
 public:
  using Clock = std::function<std::int64_t()>;  // ns since 1970
  static std::int64_t realtime_ns();

  // `read_heading` is asked what the file says, unless that is known and the file has not changed.
  FileHeading(std::string file, store::ReadHeading read_heading, Clock clock = realtime_ns);
  const std::string& file() const { return file_; }

  // The file as the file system describes it now.
  struct Look {
    struct Version {
      std::uint64_t device = 0, inode = 0, size = 0;
      std::int64_t modified_ns = 0, changed_ns = 0;  // whoever puts the first one back changes the second one
      bool operator==(const Version&) const = default;
    };
    Version version;
    std::optional<Version> log;  // what SQLite has not yet moved into the file; looked for where it may be there
    std::int64_t at_ns = 0;
    bool still_there = false;  // the name leads to the file that was there first
  };
  Look look() const;

  absl::StatusOr<RunSummary> summary(const Look&) const;
  absl::StatusOr<store::RunCounts> counts() const;

 private:
  template <typename T>
  struct Read {
    Look look;
    absl::StatusOr<T> value;
  };
  // Whether what was read then can be told now.
  template <typename T>
  static bool is_current(const std::optional<Read<T>>& read, const Look& now);

  const std::string file_;
  const store::ReadHeading read_heading_;
  const Clock clock_;
  mutable std::mutex mutex_;
  mutable bool has_log_ = true;  // may have one: the run goes on, or its recorder was killed
  mutable std::optional<Read<RunSummary>> summary_;
  mutable std::optional<Read<store::RunCounts>> counts_;
  const Look first_;
};

}  // namespace castscope::web
