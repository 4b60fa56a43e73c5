// castscope doctor: checks what works and what does not, and says how to fix it.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/cli/agents/agents.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/run_options.h"
#include "server/cli/doctor/collector_checks.h"
#include "server/cli/doctor/command_checks.h"
#include "server/cli/doctor/gpu_checks.h"
#include "server/cli/doctor/system_checks.h"
#include "server/cli/job/job_environment.h"
#include "server/cli/job/run_directory.h"
#include "server/cli/leftovers/leftovers.h"
#include "server/cli/loading/job_loader.h"
#include "server/cli/loading/trial.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/preload.h"
#include "server/cli/toolkit/recipe.h"
#include "server/cli/version.h"
#include "server/report/text/document.h"
#include "server/report/text/words.h"

namespace castscope::cli {
namespace {

struct DoctorOptions {
  bool json = false, build = false;
  CollectorAddress collector;
  std::vector<std::string> command;
};

Check check_compiler() {
  std::vector<std::string> cxx = cxx_compiler();
  if (cxx.empty()) {
    return {"compiler", "problem", "no C++ compiler", "install g++ 10 or newer (Debian: apt install g++), or set CXX"};
  }
  auto version = run_child({cxx.back(), "--version"});
  if (!version.ok() || version->status != 0) {
    return {"compiler", "problem", absl::StrCat(absl::StrJoin(cxx, " "), " does not run"), "install g++, or set CXX"};
  }
  return {"compiler", "ok", std::vector<std::string>(absl::StrSplit(version->out, '\n'))[0], ""};
}

Check check_preload(const absl::StatusOr<Preload>& preload, const JobLoader& loader, const Trial& trial) {
  if (!preload.ok())
    return {"preload", "problem", std::string(preload.status().message()), "fix what the message says"};
  if (!trial.problem.empty()) {
    const bool is_old = absl::StrContains(trial.problem, "version `GLIBC_");
    return {"preload", "problem", absl::StrCat(preload->library, " does not load: ", trial.problem),
            is_old ? "castscope needs glibc 2.17 or newer: use a newer system or container"
                   : "fix what the message says; until then jobs run unobserved"};
  }
  const std::string glibc = trial.glibc.empty() ? "a C library that is not glibc" : "glibc " + trial.glibc;
  return {"preload", "ok", absl::StrCat(preload->library, " (loads with ", glibc, " of ", loader.path, ")"), ""};
}

Check check_agent(const PythonInstall& python, const std::string& glibc, bool build) {
  const TorchInstall& torch = *python.torch;
  auto found = build ? obtain_agent(python, glibc, say, true) : absl::StatusOr<std::string>(find_agent(torch, glibc));
  if (!found.ok()) return {"agent", "problem", std::string(found.status().message()), "fix what the message says"};
  if (!found->empty()) return {"agent", "ok", *found, ""};
  if (torch.include_folders.empty()) {
    return {"agent", "problem", absl::StrCat("none, and ", torch.folder, " has no headers to build one with"),
            "install PyTorch's headers (Debian: apt install libtorch-dev; wheels bring them)"};
  }
  return {"agent", "warning", absl::StrCat("none for build ", torch.key, " yet"),
          "`castscope run` builds it, or `castscope doctor --build` (about a minute)"};
}

// Tries it out: runs a Python that imports torch under the preload library, in a run of its own.
Check check_attaching(const PythonInstall& python, const std::string& preload, const std::string& glibc) {
  auto directory = RunDirectory::create();
  if (!directory.ok()) return {"attaching", "problem", std::string(directory.status().message()), "free some memory"};
  ChildOptions options;
  options.environment = {absl::StrCat("LD_PRELOAD=", preload), absl::StrCat("CASTSCOPE_RUN=", directory->path()),
                         absl::StrCat("CASTSCOPE_AGENTS=", agent_search_path(glibc))};
  // Python must not import modules from the working folder: anybody may have put them there.
  constexpr char kTry[] =
      "import sys; sys.path[:1] == [''] and sys.path.pop(0); sys.path.append(sys.argv[1])\n"
      "import ctypes, torch; print('attached=%d' % ctypes.CDLL(None).castscope_attached())";
  const std::string beside_torch = std::filesystem::path(python.torch->folder).parent_path().string();
  auto result = run_child({python.executable, "-c", kTry, beside_torch}, options);
  std::string said = absl::StrJoin(directory->said(), "; ");
  directory->discard();
  if (!result.ok()) return {"attaching", "problem", std::string(result.status().message()), "repair this Python"};
  if (result->status != 0) {
    return {"attaching", "problem", absl::StrCat("`import torch` fails: ", absl::StripAsciiWhitespace(result->err)),
            "repair this PyTorch; with CASTSCOPE_OFF=1 in the environment castscope takes no part in it"};
  }
  if (absl::StrContains(result->out, "attached=1"))
    return {"attaching", said.empty() ? "ok" : "warning", said.empty() ? "the agent watches this PyTorch" : said, ""};
  const bool is_old = absl::StrContains(said, "GLIBCXX_") || absl::StrContains(said, "CXXABI_");
  return {
      "attaching", "problem", said.empty() ? "the agent does not attach" : said,
      is_old ? "this Python brings an older libstdc++ than the agent was built for: install a newer one in its "
               "environment (conda install libstdcxx-ng), or delete the agent and build it with that environment's g++ "
               "(CXX=… castscope doctor --build)"
             : "delete the agent named above and run `castscope doctor --build`"};
}

void check_python(const DoctorOptions& options, std::vector<Check>& checks) {
  std::string executable = python_of(options.command);
  if (!options.command.empty() && named_python(options.command).empty()) {
    const std::string& named = options.command[0];
    std::error_code error;
    const bool is_program = !find_in_path(named).empty(), is_file = std::filesystem::exists(named, error);
    checks.push_back({"python", "problem",
                      absl::StrCat(named, is_program ? " is not a Python"
                                          : is_file  ? " cannot be executed"
                                                     : ": there is no such program"),
                      "name one: castscope doctor -- /path/to/python"});
    return;
  }
  if (executable.empty()) {
    checks.push_back({"python", "problem", "no python3 on PATH", "name one: castscope doctor -- /path/to/python"});
    return;
  }
  auto python = probe_python(executable);
  if (!python.ok()) {
    checks.push_back({"python", "problem", std::string(python.status().message()),
                      "name another: castscope doctor -- /path/to/python"});
    return;
  }
  checks.push_back({"python", "ok", absl::StrCat(python->version, " (", python->executable, ")"), ""});
  const absl::StatusOr<Preload> preload = obtain_preload();
  const JobLoader loader = loader_of({python->executable});
  const Trial trial = preload.ok() ? try_preload(*preload, loader) : Trial{};
  checks.push_back(check_preload(preload, loader, trial));
  const bool loads = checks.back().state == "ok";
  if (!python->torch) {
    std::string found = python->torch_problem.empty() ? "not installed for this Python" : python->torch_problem;
    checks.push_back({"torch", "problem", found,
                      "activate the environment that has it, or: castscope doctor -- /path/to/its/python"});
    return;
  }
  checks.push_back({"torch", "ok", absl::StrCat(python->torch->version, " (", python->torch->folder, ")"), ""});
  checks.push_back(check_agent(*python, trial.glibc, options.build));
  if (loads && checks.back().state == "ok") checks.push_back(check_attaching(*python, preload->library, trial.glibc));
  checks.push_back({"package", "ok",
                    python->has_castscope ? "castscope is installed for this Python"
                                          : "not installed: `castscope run` lends it to the job",
                    ""});
  const char* wanted = getenv("CASTSCOPE_GPU");
  for (Check& check : gpu_checks(probe_gpu(*python), wanted != nullptr ? wanted : ""))
    checks.push_back(std::move(check));
}

Check check_leftovers() {
  if (const std::size_t runs = leftovers().size(); runs > 0)
    return {"leftovers", "warning", absl::StrCat(report::counted(runs, "run", "runs"), " whose recorder is gone"),
            "castscope recover lists them, and says how to make their run files or to delete them"};
  if (const std::size_t empty = empty_ones().size(); empty > 0)
    return {"leftovers", "warning",
            absl::StrCat(report::counted(empty, "run directory", "run directories"), " with nothing to recover"),
            "castscope recover --discard --all deletes them"};
  return {"leftovers", "ok", "none", ""};
}

void print_json(const std::vector<Check>& checks) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Check& check : checks) {
    list.push_back({{"check_name", check.name},
                    {"check_state", check.state},
                    {"found", check.found},
                    {"fix", check.mend.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(check.mend)}});
  }
  const auto json =
      report::document(report::kDoctorForm, {{"castscope_version", kVersion}, {"checks", std::move(list)}});
  std::cout << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

void print_text(const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    std::printf("%-10s %-8s %s\n", check.name.c_str(), check.state.c_str(), check.found.c_str());
    if (!check.mend.empty()) std::printf("%-19s → %s\n", "", check.mend.c_str());
  }
}

int examine(const DoctorOptions& options) {
  std::vector<Check> checks = {{"castscope", "ok", absl::StrCat(kVersion, " (", program_path(), ")"), ""},
                               check_compiler()};
  for (Check& check : command_checks(options.command)) checks.push_back(std::move(check));
  for (Check& check : environment_checks()) checks.push_back(std::move(check));
  check_python(options, checks);
  checks.push_back(check_shared_memory());
  checks.push_back(check_system_calls());
  checks.push_back(check_tracing(rights_here()));
  checks.push_back(check_leftovers());
  checks.push_back(check_spool());
  if (!options.collector.address.empty()) checks.push_back(check_collector(options.collector));
  options.json ? print_json(checks) : print_text(checks);
  for (const Check& check : checks) {
    if (check.state == "problem") return kFound;
  }
  return 0;
}

}  // namespace

void add_doctor(CommandLine& line) {
  const Command command =
      line.subcommand("doctor", "Check whether jobs can be observed here, and tell how to fix what is missing");
  auto options = std::make_shared<DoctorOptions>();
  command.flag("--json", options->json, "Print JSON");
  command.flag("--build", options->build, "Build what is missing now");
  command
      .option("--collector HOST:PORT", options->collector.address,
              "Try whether this collector can be reached, and lets this user send; no run comes of it")
      .from_variable("CASTSCOPE_COLLECTOR");
  add_credential_options(command, options->collector);
  command.takes_other_words();
  command.takes_job("[-- PYTHON | -- COMMAND]");
  command.footer(
      absl::StrCat("Examples:\n"
                   "  castscope doctor\n"
                   "  castscope doctor --build -- .venv/bin/python\n"
                   "  castscope doctor --collector collector.example.org:7390 --token-file ~/.token\n"
                   "  castscope doctor -- sudo -u me python train.py   # what keeps castscope from this job?\n\n",
                   exit_statuses_of("doctor")));
  command.on_run([&line, options, command] {
    options->command = command.remaining();
    options->command.insert(options->command.end(), line.job.begin(), line.job.end());
    return examine(*options);
  });
}

}  // namespace castscope::cli
