#include "server/cli/doctor/system_checks.h"

#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace castscope::cli {
namespace {

// A process with very many sites takes 48 MB of shared memory, and two such processes take twice that.
constexpr double kOneProcess = 48, kComfortable = 2 * kOneProcess;
constexpr char kMore[] =
    "free some (castscope recover lists what is left over), or give the container more (docker run --shm-size=1g)";

bool has_filter() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (absl::StartsWith(line, "Seccomp:")) return absl::StripAsciiWhitespace(line.substr(8)) == "2";
  }
  return false;
}

}  // namespace

Check check_shared_memory(const char* folder) {
  if (access(folder, W_OK | X_OK) != 0) {
    return {"memory", "warning",
            absl::StrCat(folder, " cannot be written: run directories go to the folder for temporary files"),
            absl::StrCat("nothing, or mount a tmpfs at ", folder)};
  }
  struct statvfs space {};
  if (statvfs(folder, &space) != 0) return {"memory", "warning", absl::StrCat(folder, " does not tell its size"), ""};
  const double megabytes = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize) / (1 << 20);
  const std::string found = absl::StrFormat("%.0f MB free in %s", megabytes, folder);
  if (megabytes < kOneProcess)
    return {"memory", "warning", absl::StrFormat("%s; a process may take up to %.0f MB", found, kOneProcess), kMore};
  if (megabytes < kComfortable)
    return {"memory", "warning",
            absl::StrFormat("%s; a process may take up to %.0f MB, and this is not enough for two", found, kOneProcess),
            kMore};
  return {"memory", "ok", found, ""};
}

// The roll of a run lies in such a file; the job's processes open it through /proc (agent/lanes/roll.h).
Check check_system_calls() {
  const int fd = memfd_create("castscope-doctor", MFD_CLOEXEC);
  const int error = errno;
  if (fd >= 0) close(fd);
  const std::string filter =
      has_filter() ? "a filter of system calls is on (seccomp)" : "no filter of system calls is on";
  if (fd >= 0) return {"seccomp", "ok", absl::StrCat(filter, ": castscope may use what it needs"), ""};
  return {"seccomp", "warning",
          absl::StrCat(filter, ", and memfd_create fails: ", strerror(error),
                       ": a process that loses its run directory is not noticed"),
          "allow memfd_create in the container's profile, or nothing"};
}

// A process of the same user that is as open as any.
Check check_tracing(const Rights& rights) {
  const Running any{
      .pid = 0, .exists = true, .is_readable = true, .user = rights.user, .torch_library = "libtorch_cpu.so"};
  if (obstacle(any, rights).empty())
    return {"attach", "ok", "castscope attach may come into jobs that were started without castscope", ""};
  return {"attach", "warning",
          absl::StrCat("kernel.yama.ptrace_scope is ", rights.yama_scope,
                       ": castscope attach may not come into jobs that were started without castscope"),
          rights.yama_scope == 3
              ? "nothing where jobs are started by `castscope run --armed`; else set it to 0 and boot anew"
              : "nothing where jobs are started by `castscope run --armed`; else `sysctl "
                "kernel.yama.ptrace_scope=0`"};
}

}  // namespace castscope::cli
