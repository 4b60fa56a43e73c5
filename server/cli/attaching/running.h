// A process that castscope did not start: what is known of it, and what keeps castscope out of it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace castscope::cli {

// Read from /proc; all texts are "" where they are not known.
struct Running {
  pid_t pid = 0;
  std::uint64_t ticks = 0;                   // proc.h: which of the processes that ever have this number
  bool exists = false, is_readable = false;  // /proc/PID/maps is closed to those who may not trace the process
  uid_t user = 0;                            // its effective one
  bool is_of_one_user = true;                // false: it has the rights of several, as a setuid program has
  bool may_do_less = false;           // than what castscope would start: it lacks capabilities, or has its own users
  std::string executable = {};        // of its interpreter
  std::string torch_library = {};     // libtorch_cpu.so that it has loaded
  bool has_castscope = false;         // the preload library is in it
  bool sees_other_files = false;      // it is in a container, say: its paths lead elsewhere
  bool refuses_remote_debug = false;  // PYTHON_DISABLE_REMOTE_DEBUG is set
  bool is_stopped = false;            // by SIGSTOP or a debugger: it runs nothing until it goes on
};

Running inspect(pid_t pid);

// What kernel and user allow; of this process.
struct Rights {
  uid_t user = 0;
  int yama_scope = 0;          // /proc/sys/kernel/yama/ptrace_scope; 0 = off
  bool may_trace_all = false;  // CAP_SYS_PTRACE
  bool is_filtered = false;    // a seccomp filter is on: it may refuse ptrace
};
Rights rights_here();

// Why castscope cannot come into this process, with what to do about it; "" = nothing is known against it.
//
// castscope starts the Python of the process that it comes into. So it comes into none that belongs to somebody else,
// or that may do less: that program would get castscope's rights. Root is no exception.
std::string obstacle(const Running& process, const Rights& rights);

// Returns whether a program that this process starts would have a capability that the other process lacks. `own` and
// `other` are the texts of their /proc/PID/status. `is_root`: this process is root's, whose programs get all
// capabilities of its bounding set.
bool has_more_capabilities(const std::string& own, const std::string& other, bool is_root);

// `maps` is /proc/PID/maps: the first file in it whose name begins so, and from which code is run.
std::string mapped_file(const std::string& maps, const std::string& name);

}  // namespace castscope::cli
