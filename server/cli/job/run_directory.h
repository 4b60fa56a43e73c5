// The run directory: segments, and the small files by which the processes of a run and castscope find each other.
//
//   <pid>-<n>.lanes    what a process saw (agent/lanes/format.h)
//   <pid>.attached     a process with an agent, forked children too, whether or not it has cast
//   <pid>.replaced     exec put another program into that process
//   said-<hash>        a sentence that was said on stderr, once for all processes
//   relay.lock         somebody relays this run (bare use)
//   run.json           what `castscope run` knows of the job, for `castscope recover`
//   policy             the policy that is enforced (agent/enforce/decided/policy_table.h)
//   libcastscope.so    a link to the library, where its path cannot stand in LD_PRELOAD
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace castscope::cli {

struct RunRecord {
  std::vector<std::string> command;
  std::string cwd, stem;  // of the output
  std::int64_t begin_realtime_ns = 0;
  pid_t pid = 0;  // of the castscope that records it
  std::uint64_t pid_ticks = 0;
  bool keep_all = false;
};

class RunDirectory {
 public:
  // A fresh one, closed to other users, in shared memory where there is such.
  static absl::StatusOr<RunDirectory> create();
  // Where they lie: a folder of this user's own.
  static absl::StatusOr<std::string> base();
  explicit RunDirectory(std::string path);
  // All that lie about, of this user.
  static std::vector<RunDirectory> all();

  const std::string& path() const { return path_; }
  // Whether it is one at all: a folder of ours with such a name, closed to others, that holds files of castscope or
  // none; a sentence when not. Whoever is given a path asks this first.
  absl::Status check() const;
  std::string id() const;
  bool is_bare() const;  // made by the preload library, not by `castscope run`
  absl::Status write_record(const RunRecord& record) const;
  absl::StatusOr<std::string> write_policy(const std::string& compiled) const;  // where it lies
  std::optional<RunRecord> read_record() const;
  std::vector<pid_t> attached() const;           // that ever were, the first one first
  std::vector<std::string> said() const;         // sentences
  void note(const std::string& sentence) const;  // one more of them
  // Whether a sentence tells, or would have told had there been room, that something of the job was not recorded.
  bool tells_of_unrecorded() const;
  bool has_segments() const;  // in which something is
  // Attached, or with a segment, and still the program with the agent: not what exec put in its place.
  std::vector<pid_t> living_processes() const;
  bool has_living_process() const { return !living_processes().empty(); }
  bool is_recorded() const;  // by a castscope that lives
  // Removes the files that castscope makes there, and the directory when it is empty then. What else lies in it stays.
  // True: it is gone.
  bool discard() const;
  void discard_unless_segments() const;

 private:
  std::vector<std::string> all_said() const;  // "" for one that found no room
  std::string path_;
};

}  // namespace castscope::cli
