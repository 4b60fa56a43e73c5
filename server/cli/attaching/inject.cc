#include "server/cli/attaching/inject.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/cli/attaching/control_page.h"
#include "server/cli/job/proc.h"
#include "server/cli/toolkit/child.h"

namespace castscope::cli {
namespace {

using std::chrono::seconds;

// Python runs the script, and gdb gets its turn, when the process next comes to run Python code.
constexpr seconds kTurn{30};

constexpr char kGdbWarning[] =
    "gdb stops the job for about a second and calls functions in it: if gdb is killed meanwhile, the job dies with it, "
    "and a job that holds a lock of the loader can be left hanging";

bool write_file(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  const bool whole = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return whole;
}

std::string library_in(const RunDirectory& directory) { return directory.path() + "/libcastscope.so"; }

bool has_remote_exec(const std::string& executable) {
  const auto answer = run_child({executable, "-I", "-S", "-c", "import sys; print(hasattr(sys, 'remote_exec'))"});
  return answer.ok() && absl::StrContains(answer->out, "True");
}

// The last lines that say something.
std::string reason_of(const ChildResult& result) {
  std::string last;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(result.err + result.out, '\n')))
    if (!absl::StripAsciiWhitespace(line).empty()) last = std::string(absl::StripAsciiWhitespace(line));
  return last.empty() ? absl::StrCat("status ", result.status) : last;
}

absl::Status by_remote_exec(const Running& process, const RunDirectory& directory) {
  const std::string script = absl::StrCat(directory.path(), "/", kInjectedByPython);
  const std::string text =
      absl::StrCat("import ctypes\nctypes.PyDLL(", "\"", library_in(directory), "\"", ").castscope_attach_here()\n");
  if (!write_file(script, text)) return absl::UnavailableError(absl::StrCat(script, " cannot be written"));
  const std::string call = absl::StrCat("import sys; sys.remote_exec(", process.pid, ", '", script, "')");
  const auto result = run_child({process.executable, "-I", "-S", "-c", call});
  if (!result.ok()) return result.status();
  if (result->status != 0)
    return absl::UnavailableError(absl::StrCat("sys.remote_exec of Python failed: ", reason_of(*result)));
  return absl::OkStatus();
}

absl::Status by_gdb(const Running& process, const RunDirectory& directory) {
  const std::string script = absl::StrCat(directory.path(), "/", kInjectedByGdb);
  if (!write_file(script, gdb_script(library_in(directory))))
    return absl::UnavailableError(absl::StrCat(script, " cannot be written"));
  // INT, and not KILL: gdb takes its breakpoint out of the job then, and lets it go on.
  const auto result = run_child({"timeout", "-s", "INT", absl::StrCat(kTurn.count()), "gdb", "-nx", "-batch", "-iex",
                                 "set auto-solib-add off", "-p", absl::StrCat(process.pid), "-x", script});
  if (!result.ok()) return result.status();
  if (!absl::StrContains(result->out, "castscope is in the process"))
    return absl::UnavailableError(absl::StrCat("gdb could not bring castscope into the process: ", reason_of(*result)));
  return absl::OkStatus();
}

}  // namespace

// The breakpoint is at a function that CPython calls with the GIL, and in which no lock of the allocator or of the
// loader is held. Of symbols, those of Python and of the C library alone are read: the job stands still meanwhile, and
// those of PyTorch take ten times as long as all else.
std::string gdb_script(const std::string& library) {
  return absl::StrCat(
      "set pagination off\nset confirm off\nset breakpoint pending off\n"
      "sharedlibrary /libpython\\|/libc[-.]\\|/libdl[-.]\n"
      "break _PyEval_EvalFrameDefault\n"
      "commands\n"
      "silent\n"
      "delete\n"
      "set $library = ((void *(*)(const char *, int)) dlopen)(\"",
      library,
      "\", 2)\n"
      "if $library == 0\n"
      "  printf \"%s\\n\", ((char *(*)(void)) dlerror)()\n"
      "else\n"
      "  set $call = (int (*)(void)) ((void *(*)(void *, const char *)) dlsym)($library, \"castscope_attach_here\")\n"
      "  if $call()\n"
      "    echo castscope is in the process\\n\n"
      "  end\n"
      "end\n"
      "end\n"
      "continue\n"
      "detach\n"
      "quit\n");
}

absl::StatusOr<Way> way_into(const Running& process, bool by_gdb) {
  if (by_gdb) {
    if (find_in_path("gdb").empty())
      return absl::NotFoundError(
          "gdb is not installed here: `apt install gdb`, or start the job by `castscope run "
          "--armed`");
    return Way::kGdb;
  }
  if (!has_remote_exec(process.executable))
    return absl::UnimplementedError(
        absl::StrCat("this Python has no sys.remote_exec (3.14 and later have): with --gdb castscope comes in by gdb. ",
                     kGdbWarning, ". A job that `castscope run --armed` starts needs neither"));
  if (process.refuses_remote_debug)
    return absl::UnimplementedError(absl::StrCat(
        "PYTHON_DISABLE_REMOTE_DEBUG is set in the process: with --gdb castscope comes in by gdb. ", kGdbWarning));
  return Way::kRemoteExec;
}

absl::Status prepare_injection(const RunDirectory& directory, const std::string& library, const std::string& agents) {
  if (symlink(library.c_str(), library_in(directory).c_str()) != 0)
    return absl::UnavailableError(absl::StrCat(library_in(directory), ": ", strerror(errno)));
  std::string settings;
  for (const std::string& one : {absl::StrCat("CASTSCOPE_RUN=", directory.path()),
                                 absl::StrCat("CASTSCOPE_AGENTS=", agents), absl::StrCat("CASTSCOPE_ARMED=1")})
    settings.append(one).push_back('\0');
  const std::string path = absl::StrCat(directory.path(), "/", kInjectedSettings);
  return write_file(path, settings) ? absl::OkStatus()
                                    : absl::UnavailableError(absl::StrCat(path, " cannot be written"));
}

absl::Status inject(const Running& process, Way way, const RunDirectory& directory) {
  const auto ended = [&process] {
    return absl::AbortedError(absl::StrCat("process ", process.pid, " has ended before castscope was in it"));
  };
  const absl::Status status = way == Way::kGdb ? by_gdb(process, directory) : by_remote_exec(process, directory);
  if (!status.ok()) return is_alive(process.pid, process.ticks) ? status : ended();
  const auto deadline = std::chrono::steady_clock::now() + kTurn;
  while (ControlPage::all(directory.path(), process.pid).empty()) {
    if (!is_alive(process.pid, process.ticks)) return ended();
    if (std::chrono::steady_clock::now() > deadline)
      return absl::DeadlineExceededError(
          absl::StrCat("process ", process.pid, " has not run castscope's code within ", kTurn.count(),
                       " s: its main thread runs no Python code, or another thread than the main one does"));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return absl::OkStatus();
}

}  // namespace castscope::cli
