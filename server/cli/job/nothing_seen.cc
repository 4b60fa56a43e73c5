#include "server/cli/job/nothing_seen.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kNoProcess[] = "no process with PyTorch was seen";
constexpr char kNoFiles[] = "nothing was recorded, and no files are left";
constexpr char kSeesOnly[] =
    "castscope sees a process only if it starts with castscope's LD_PRELOAD in its environment, from a program that is "
    "not statically linked";

// The exit statuses with which Python ends if it cannot open the script, and if the script raises an exception.
constexpr int kCannotOpen = 2, kRaised = 1;

// Ends with 3 if the script cannot be compiled.
constexpr char kCompile[] = R"(
import sys
try:
    compile(open(sys.argv[1], "rb").read(), sys.argv[1], "exec")
except (SyntaxError, ValueError):
    sys.exit(3)
)";

bool cannot_be_compiled(const std::string& python, const std::string& script) {
  std::error_code error;
  if (python.empty() || !fs::is_regular_file(script, error) || absl::EndsWith(script, ".pyz")) return false;
  const auto done = run_child({python, "-I", "-c", kCompile, script}, {.environment = {"CASTSCOPE_OFF=1"}});
  return done.ok() && done->status == 3;
}

// How many words an option of Python's takes, itself included; 0 = what follows is no script.
std::size_t words_of_option(const std::string& option) {
  if (option == "-") return 0;
  if (absl::StartsWith(option, "--")) return option == "--check-hash-based-pycs" ? 2 : 1;
  for (std::size_t i = 1; i < option.size(); i++) {
    if (option[i] == 'c' || option[i] == 'm') return 0;
    if (option[i] == 'W' || option[i] == 'X') return i + 1 == option.size() ? 2 : 1;
  }
  return 1;
}

NothingSeen never_began(const std::string& sentence) {
  return {.sentence = absl::StrCat(sentence, ": ", kNoFiles), .never_began = true};
}

}  // namespace

std::string script_of(const std::vector<std::string>& command) {
  constexpr const char* kWrappers[] = {"env", "nice", "nohup", "numactl", "taskset", "timeout"};
  if (command.empty()) return "";
  const std::string program = fs::path(command[0]).filename().string();
  std::size_t at = 0;
  if (!looks_like_python(program)) {
    if (std::ranges::find(kWrappers, program) == std::end(kWrappers)) return "";
    // A wrapper's option may change the folder, or the environment.
    for (at = 1; at < command.size() && !looks_like_python(command[at]); at++)
      if (absl::StartsWith(command[at], "-")) return "";
  }
  for (at++; at < command.size() && absl::StartsWith(command[at], "-");) {
    const std::size_t words = words_of_option(command[at]);
    if (words == 0) return "";
    at += words;
  }
  return at < command.size() ? command[at] : "";
}

NothingSeen why_nothing_was_seen(const std::vector<std::string>& command, const JobEnd& end) {
  const std::string script = script_of(command), python = named_python(command);
  std::error_code error;
  if (!script.empty() && end.exit_status == kCannotOpen && !fs::exists(script, error) && !error)
    return never_began(absl::StrCat("there is no script ", script));
  if (!script.empty() && end.exit_status == kRaised && cannot_be_compiled(python, script))
    return never_began(absl::StrCat(script, " cannot be compiled, so that no line of it ran"));
  if (!python.empty()) {
    const auto probed = probe_python(python);
    if (probed.ok() && !probed->torch && probed->torch_problem.empty())
      return {.sentence = absl::StrCat(kNoProcess, ": the job's Python, ", python, ", has no PyTorch")};
  }
  if (end.signal != 0 || end.exit_status > 0)
    return {.sentence = absl::StrCat(kNoProcess, " before the job failed, which its own message explains; besides, ",
                                     kSeesOnly)};
  return {.sentence = absl::StrCat(kNoProcess, ": ", kSeesOnly)};
}

}  // namespace castscope::cli
