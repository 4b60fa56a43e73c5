#include "server/cli/attaching/running.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/cli/job/proc.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string link_at(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  return error ? "" : target.string();
}

bool is_set_in(const std::string& environment, const std::string& name) {
  for (const std::string& entry : std::vector<std::string>(absl::StrSplit(environment, '\0')))
    if (absl::StartsWith(entry, absl::StrCat(name, "="))) return entry.size() > name.size() + 1;
  return false;
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat first, second;
  return stat(one.c_str(), &first) == 0 && stat(other.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

// Whether the path leads the process to the file that it leads us to.
bool sees_same_file(pid_t pid, const std::string& path) {
  return is_same_file(path, absl::StrCat("/proc/", pid, "/root", path));
}

std::string value_in(const std::string& status, const std::string& key) {
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(status, '\n')))
    if (absl::StartsWith(line, key)) return std::string(absl::StripAsciiWhitespace(line.substr(key.size())));
  return "";
}

std::uint64_t capabilities_in(const std::string& status, const std::string& key) {
  return std::strtoull(value_in(status, key).c_str(), nullptr, 16);
}

// The owner of /proc/PID does not do: it is root for each process that may not be dumped, and any process may say that
// of itself.
void read_users(const std::string& status, Running& process) {
  const std::vector<std::string> users =
      absl::StrSplit(value_in(status, "Uid:"), '\t');  // real, effective, saved, of the file system
  uid_t effective = 0;
  const bool is_known = users.size() == 4 && absl::SimpleAtoi(users[1], &effective);
  process.is_of_one_user &= is_known && (process.user == effective || !process.exists) &&
                            std::ranges::all_of(users, [&](const std::string& user) { return user == users[0]; });
  process.user = effective;
}

bool has_other_users(pid_t pid) {
  const std::string own = link_at("/proc/self/ns/user"), other = link_at(absl::StrCat("/proc/", pid, "/ns/user"));
  return own != other && !other.empty();
}

}  // namespace

bool has_more_capabilities(const std::string& own, const std::string& other, bool is_root) {
  const std::uint64_t given = capabilities_in(own, is_root ? "CapBnd:" : "CapAmb:");
  return (given & ~capabilities_in(other, is_root ? "CapBnd:" : "CapPrm:")) != 0;
}

std::string mapped_file(const std::string& maps, const std::string& name) {
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(maps, '\n'))) {
    const std::size_t path = line.find('/'), rights = line.find(' ');
    if (path == std::string::npos || line.substr(rights + 1, 4).find('x') == std::string::npos) continue;
    if (absl::StartsWith(fs::path(line.substr(path)).filename().string(), name)) return line.substr(path);
  }
  return "";
}

Running inspect(pid_t pid) {
  const std::string proc = absl::StrCat("/proc/", pid);
  Running result{.pid = pid, .ticks = start_ticks(pid)};
  struct stat info;
  if (stat(proc.c_str(), &info) != 0) return result;
  const std::string status = content(proc + "/status");
  read_users(status, result);
  result.exists = true;
  const std::string maps = content(absl::StrCat(proc, "/maps"));
  result.is_readable = !maps.empty();
  result.executable = link_at(absl::StrCat(proc, "/exe"));
  const std::string library = result.torch_library = mapped_file(maps, "libtorch_cpu.so");
  result.has_castscope = !mapped_file(maps, "libcastscope.so").empty();
  result.sees_other_files = !library.empty() && !(sees_same_file(pid, library) &&
                                                  is_same_file(result.executable, absl::StrCat(proc, "/exe")));
  result.may_do_less =
      has_more_capabilities(content("/proc/self/status"), status, geteuid() == 0) || has_other_users(pid);
  const std::string state = value_in(status, "State:");
  result.is_stopped = absl::StartsWithIgnoreCase(state, "t");  // "T (stopped)", "t (tracing stop)"
  result.refuses_remote_debug = is_set_in(content(absl::StrCat(proc, "/environ")), "PYTHON_DISABLE_REMOTE_DEBUG");
  read_users(content(proc + "/status"), result);  // of one that has changed meanwhile nothing is believed
  return result;
}

Rights rights_here() {
  Rights rights{.user = geteuid()};
  (void)absl::SimpleAtoi(content("/proc/sys/kernel/yama/ptrace_scope"), &rights.yama_scope);
  const std::string status = content("/proc/self/status");
  constexpr int kSysPtrace = 19;  // CAP_SYS_PTRACE
  const std::uint64_t effective = std::strtoull(value_in(status, "CapEff:").c_str(), nullptr, 16);
  rights.may_trace_all = (effective >> kSysPtrace & 1) != 0;
  rights.is_filtered = value_in(status, "Seccomp:") == "2";
  return rights;
}

std::string obstacle(const Running& process, const Rights& rights) {
  const std::string number = absl::StrCat("process ", process.pid);
  if (!process.exists) return absl::StrCat("there is no ", number);
  if (process.user != rights.user)
    return absl::StrCat(number, " belongs to user ", process.user, ": run castscope as that user, as by `sudo -u '#",
                        process.user, "'`");
  if (!process.is_of_one_user)
    return absl::StrCat(number, " has the rights of several users, as a setuid program has: castscope keeps out of it");
  if (rights.yama_scope == 3)
    return "kernel.yama.ptrace_scope is 3, so that no process may look into another until the next boot: start the job "
           "by `castscope run --armed`";
  if (rights.yama_scope > 0 && !rights.may_trace_all)
    return absl::StrCat("kernel.yama.ptrace_scope is ", rights.yama_scope, ", so that castscope may not look into ",
                        number,
                        ": set `sysctl kernel.yama.ptrace_scope=0`, or start the job by `castscope run --armed`; a "
                        "container of root's needs `--cap-add SYS_PTRACE`");
  if (!process.is_readable)
    return absl::StrCat("castscope may not look into ", number,
                        rights.is_filtered ? ": a seccomp filter is on here, as containers have one; run it with "
                                             "`--cap-add SYS_PTRACE`, or start the job by `castscope run --armed`"
                                           : ": it may not be dumped, say; start the job by `castscope run --armed`");
  if (process.torch_library.empty())
    return absl::StrCat(number, " has not loaded PyTorch, at least not yet: name the process that trains");
  if (process.has_castscope)
    return absl::StrCat("castscope is in ", number, " already, and is switched off there, or of another version");
  if (process.is_stopped)
    return absl::StrCat(number,
                        " is stopped, by a signal or a debugger: castscope can come in when it goes on, as by "
                        "`kill -CONT ",
                        process.pid, "`");
  if (process.sees_other_files)
    return absl::StrCat(number, " sees other files than castscope does, as in a container: run castscope in there");
  if (process.may_do_less)
    return absl::StrCat(number,
                        " may do less than castscope, as in a container or a service of few capabilities: run "
                        "castscope in there, with no more rights");
  return "";
}

}  // namespace castscope::cli
