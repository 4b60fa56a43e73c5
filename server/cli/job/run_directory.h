// The run directory: segments, and the small files by which the processes of a run and castscope find each other.
//
//   <pid>-<n>.lanes    what a process saw (agent/lanes/format.h)
//   <pid>.attached     a process with an agent, forked children too, whether or not it has cast; which rank it is
//   <pid>.unobserved   a process with PyTorch that has no agent; which rank it is
//   <pid>.replaced     exec put another program into that process
//   <pid>.leaving      a process that has ended but for its wait for the relay (agent/preload/relay.c)
//   said-<hash>        a sentence that was said on stderr, once for all processes
//   relay.lock         somebody relays this run (bare use)
//   roll               what processes call there (agent/lanes/roll.h; bare use)
//   <pid>.control      what a process with PyTorch is asked for while it runs (agent/lanes/control.h)
//   control            the socket at which people ask (server/cli/attaching/control_socket.h)
//   injected           settings for a process that was running before castscope came; injected.py, injected.gdb: what
//                      brings castscope into it
//   run.json           what `castscope run` knows of the job, for `castscope recover`
//   end.json           how the job ended, once its recorder knows (known_of_run.h); end.json.new while it is written
//   missing.json       what its recorder knows to be missing from the run; missing.json.new while it is written
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

inline constexpr char kEndFile[] = "end.json", kMissingFile[] = "missing.json", kNewSuffix[] = ".new";

inline constexpr char kInjectedSettings[] = "injected", kInjectedByPython[] = "injected.py",
                      kInjectedByGdb[] = "injected.gdb";

// The variable in which the job's processes have the secret of their run.
inline constexpr char kSecretVariable[] = "CASTSCOPE_SECRET";

struct RunRecord {
  std::vector<std::string> command;
  std::string cwd, stem;  // of the output: its working folder and stem
  std::int64_t begin_realtime_ns = 0;
  pid_t pid = 0;  // the castscope that records it
  std::uint64_t pid_ticks = 0;
  bool keep_all = false;
  std::string job = {};          // of a batch system or CI: "SLURM_JOB_ID=123"
  std::string collector = {};    // the address of the collector that gets the run; "" = it is written here
  std::string token_proof = {};  // which token was given for it (recording/token_proof.h); "" = none
  std::string relay = {};        // the id of the relay that sends the run to a collector
  std::string key = {};          // by which a collector knows that who sends more of the run is its sender
  std::string secret = {};       // by which the recorder knows the job's processes (agent/lanes/outside.h)
  std::string redact = {};       // what matches this pattern is redacted; "" = nothing
  bool no_source = false;        // no line of source is read
};

// 128 random bits in hexadecimal, for a key or a secret; "" where the system gives none.
std::string new_run_key();

class RunDirectory {
 public:
  // Makes a new directory, closed to other users, in shared memory where possible.
  static absl::StatusOr<RunDirectory> create();
  // The folder that holds them, which belongs to this user.
  static absl::StatusOr<std::string> base();
  explicit RunDirectory(std::string path);
  // Returns all existing run directories of this user.
  static std::vector<RunDirectory> all();

  const std::string& path() const { return path_; }
  // Checks that it is a run directory: a folder of this user with such a name, closed to others, that holds files of
  // castscope or none. Code that is given a path calls this first.
  absl::Status check() const;
  std::string id() const;
  bool is_bare() const;  // made by the preload library, not by `castscope run`
  absl::Status write_record(const RunRecord& record) const;
  absl::StatusOr<std::string> write_policy(const std::string& compiled) const;  // returns its path
  std::optional<RunRecord> read_record() const;
  std::vector<pid_t> attached() const;    // all that ever were, in order
  std::vector<std::string> said() const;  // the sentences
  // Those sentences which say that something of the job was not recorded.
  std::vector<std::string> unrecorded() const;
  void note(const std::string& sentence) const;  // adds a sentence
  bool has_segments() const;                     // segments with contents
  std::uint64_t bytes() const;                   // what its files take of the memory, or the disk
  std::int64_t made_at() const;                  // seconds since 1970
  // The processes that are attached or have a segment, and still run the program with the agent, not one that exec
  // replaced it by.
  std::vector<pid_t> living_processes() const;
  bool has_living_process() const { return !living_processes().empty(); }
  bool is_recorded() const;  // a living castscope records it
  // Removes castscope's files, and then the directory if it is empty. Other files stay. Returns true if the directory
  // is gone.
  bool discard() const;
  void discard_unless_segments() const;

 private:
  std::vector<std::string> all_said() const;  // "" for a sentence that found no room
  std::string path_;
};

// Returns those sentences which say that something of the job was not recorded. "" stands for one that found no room,
// which may have said so.
std::vector<std::string> those_of_unrecorded(const std::vector<std::string>& said);

}  // namespace castscope::cli
