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
  uid_t user = 0;
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
std::string obstacle(const Running& process, const Rights& rights);

// `maps` is /proc/PID/maps: the first file in it whose name begins so.
std::string mapped_file(const std::string& maps, const std::string& name);

}  // namespace castscope::cli
