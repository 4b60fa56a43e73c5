#include "server/cli/doctor/command_checks.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/cli/job/job_environment.h"
#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr char kInside[] =
    "put `castscope run --` behind it, before the program: the job then starts under castscope there";
constexpr char kThere[] =
    "start `castscope run` there; with --collector HOST:PORT all machines send to one `castscope serve`";

// A program that is known to keep castscope from the processes that it starts. It does so always, or with one of these
// options; an option ends with "=" where its value may follow in the same word.
struct Obstacle {
  Words programs;
  Words options;
  const char* state;
  const char* found;
  const char* mend;
};

const std::vector<Obstacle>& obstacles() {
  static const auto* const all = new std::vector<Obstacle>{
      {{"env"}, {"-i", "-", "--ignore-environment"}, "problem", "starts the job with an empty environment", kInside},
      {{"env"},
       {"-u", "--unset="},
       "warning",
       "takes variables out of the environment; without LD_PRELOAD the job is not seen",
       kInside},
      {{"sudo", "su", "doas", "pkexec"},
       {},
       "problem",
       "drops LD_PRELOAD, as every program that changes the user does",
       kInside},
      {{"systemd-run", "at", "batch", "crontab"},
       {},
       "problem",
       "has the job started by a daemon, with the daemon's environment",
       kInside},
      {{"sbatch", "qsub", "bsub", "flux"},
       {},
       "warning",
       "starts the script later, on another machine",
       "put `castscope run --` into the script, before the program"},
      {{"ssh", "pdsh", "clush", "parallel-ssh"},
       {},
       "problem",
       "starts the job on other machines, which do not get this environment",
       kThere},
      {{"docker", "podman", "nerdctl"},
       {},
       "problem",
       "starts the job in a container, which has its own files and its own environment",
       "docker run $(castscope env --docker) …, which gives the container castscope's files and variables"},
      {{"kubectl", "oc"},
       {},
       "problem",
       "starts the job in a cluster",
       "give the pod what `castscope env --k8s` prints, or put castscope into it, and `castscope run --` before the "
       "program"},
      {{"apptainer", "singularity"},
       {},
       "warning",
       "passes LD_PRELOAD on, but its container does not see the library's folder",
       "eval \"$(castscope env --apptainer)\" first, which has the folders mounted"},
      {{"enroot"},
       {},
       "warning",
       "passes variables on, but its container does not see the library's folder",
       "mount castscope's cache folder under the same path (--mount FOLDER:FOLDER), or put `castscope run --` before "
       "the program in it"},
      {{"chroot", "bwrap", "proot"},
       {},
       "warning",
       "passes LD_PRELOAD on, but starts the job beside other files, where the library's folder may be missing",
       "bind castscope's cache folder there under the same path (mount --bind, bwrap --ro-bind FOLDER FOLDER), or put "
       "`castscope run --` before the program in it"},
      {{"srun"},
       {"--container-image", "--container-image=", "--container-name="},
       "warning",
       "starts the job in a container that does not see the library's folder",
       "mount castscope's cache folder under the same path (--container-mounts=FOLDER:FOLDER), or: srun … castscope "
       "run -- python train.py"},
      {{"srun"},
       {"--export=NONE", "--export=NIL"},
       "problem",
       "starts the tasks without this environment",
       "leave --export out, or: srun … castscope run -- python train.py"},
      {{"mpirun", "mpiexec", "orterun", "prterun"},
       {"-H", "-host", "--host", "--hostfile", "-hostfile", "--machinefile", "-machinefile", "-f"},
       "warning",
       "passes only those variables on to other machines that -x names",
       "a run for each rank: mpirun … castscope run -- python train.py"},
      {{"deepspeed"},
       {"--hostfile", "-H", "--hostfile="},
       "warning",
       "passes only few variables on to other machines",
       "write what `castscope env --plain` prints into .deepspeed_env"},
      {{"ray"},
       {},
       "warning",
       "starts workers from a process that does not have this environment",
       "give the workers what `castscope env --ray` prints, a runtime_env, or set it before `ray start`"},
  };
  return *all;
}

bool has_option(const Obstacle& obstacle, const Words& command, std::size_t from) {
  if (obstacle.options.empty()) return true;
  for (std::size_t i = from; i < command.size() && !looks_like_python(command[i]); i++) {
    for (const std::string& option : obstacle.options) {
      const bool takes_value = option.back() == '=' && absl::StartsWith(command[i], option);
      if (command[i] == option || takes_value) return true;
    }
  }
  return false;
}

// Castscope's own part of LD_PRELOAD.
std::string library_in(const std::string& preload) {
  for (absl::string_view path : absl::StrSplit(preload, absl::ByAnyChar(": "), absl::SkipEmpty())) {
    if (absl::StartsWith(fs::path(std::string(path)).filename().string(), "libcastscope")) return std::string(path);
  }
  return "";
}

constexpr char kMount[] =
    "mount the folder under the same path (docker run -v FOLDER:FOLDER:ro, apptainer --bind FOLDER)";

}  // namespace

std::vector<Check> command_checks(const Words& command) {
  std::vector<Check> result;
  for (std::size_t i = 0; i < command.size() && !looks_like_python(command[i]); i++) {
    const std::string name = fs::path(command[i]).filename().string();
    for (const Obstacle& obstacle : obstacles()) {
      const bool is_it = std::ranges::find(obstacle.programs, name) != obstacle.programs.end();
      if (!is_it || !has_option(obstacle, command, i + 1)) continue;
      result.push_back({"command", obstacle.state, absl::StrCat(name, " ", obstacle.found), obstacle.mend});
      return result;  // what stands behind it is not castscope's any more
    }
  }
  return result;
}

std::vector<Check> environment_checks() {
  std::vector<Check> result;
  const auto add = [&result](const char* state, const std::string& found, const std::string& mend) {
    result.push_back({"environment", state, found, mend});
  };
  const std::string library = library_in(variable("LD_PRELOAD")), run = variable("CASTSCOPE_RUN");
  if (!library.empty() && access(library.c_str(), R_OK) != 0)
    add("problem",
        absl::StrCat("LD_PRELOAD names ", library,
                     ", which is not here: ld.so says so in each process, and the job is not seen"),
        kMount);
  if (library.empty() && !variable("CASTSCOPE_AGENTS").empty())
    add("problem", "castscope's variables are here without LD_PRELOAD: what starts this process drops it",
        "put `castscope run --` behind what drops it, before the program");
  if (!library.empty() && !run.empty() && access(run.c_str(), F_OK) != 0)
    add("problem", absl::StrCat("CASTSCOPE_RUN names ", run, ", which is not here: records would go nowhere"),
        absl::StrCat(kMount, ", and /dev/shm with it (docker run --ipc=host)"));
  if (variable("RAY_LD_PRELOAD_ON_WORKERS") == "0")
    add("warning", "RAY_LD_PRELOAD_ON_WORKERS=0: Ray's workers are started without LD_PRELOAD", "set it to 1");
  return result;
}

}  // namespace castscope::cli
