// castscope env: prints the variables for a bare LD_PRELOAD, where castscope does not start the job.
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/commands/run_options.h"
#include "server/cli/job/job_environment.h"
#include "server/cli/job/policy_variables.h"
#include "server/cli/job/variable_forms.h"
#include "server/cli/toolkit/cache_folder.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/python_probe.h"
#include "server/policy/compiled.h"
#include "server/policy/load.h"
#include "server/relay/sending/connect.h"

namespace castscope::cli {
namespace {

struct EnvOptions {
  std::string output, deep, gpu, enforce;
  CollectorAddress collector;
  Withholding withholding;
  bool plain = false, docker = false, apptainer = false, k8s = false, slurm = false, ray = false;
  bool all_kernels = false, apex = false, enforce_if_possible = false;
  std::vector<std::string> command;
};

VariableForm form_of(const EnvOptions& options) {
  if (options.plain) return VariableForm::kPlain;
  if (options.docker) return VariableForm::kDocker;
  if (options.apptainer) return VariableForm::kApptainer;
  if (options.k8s) return VariableForm::kKubernetes;
  if (options.slurm) return VariableForm::kSlurm;
  return options.ray ? VariableForm::kRay : VariableForm::kShell;
}

// Returns false, after saying why, if the policy cannot be enforced.
bool add_policy(const EnvOptions& options, std::vector<std::string>& variables) {
  if (options.enforce.empty()) return true;
  const auto policy = policy::load(options.enforce);
  const std::string compiled = policy.ok() ? policy::compiled(*policy) : "";
  const auto path = policy.ok() ? keep_compiled(compiled) : policy.status();
  if (!path.ok()) {
    say(std::string(path.status().message()));
    return false;
  }
  for (std::string& variable : enforcing_variables(compiled, *path, options.all_kernels, options.enforce_if_possible))
    variables.push_back(std::move(variable));
  return true;
}

// Returns "", or why the variables cannot be made for this command. Tells of one that is no Python, since they are then
// made for another one.
std::string problem_of_python(const std::vector<std::string>& command) {
  if (command.empty() || !named_python(command).empty()) return "";
  if (find_in_path(command[0]).empty()) return absl::StrCat(command[0], ": there is no such program");
  const std::string python = python_of(command);
  say(absl::StrCat(command[0], " is not a Python: ",
                   python.empty() ? "no agent is built for it" : absl::StrCat("the agent is made for ", python)));
  return "";
}

std::string with_what_follows(const EnvOptions& options, const std::string& why) {
  if (options.enforce.empty()) return why;
  return absl::StrCat(why, options.enforce_if_possible ? "; jobs with this PyTorch run without the policy"
                                                       : "; jobs with this PyTorch end with status 125, since the "
                                                         "policy cannot be enforced (--enforce-if-possible)");
}

// The folder in which a container leaves its run files; those that it has for itself end with it. "" = a collector has
// the run.
absl::StatusOr<std::string> output_folder(const EnvOptions& options, Variables& variables) {
  if (!options.collector.address.empty() && options.output.empty()) return "";
  std::error_code error;
  std::filesystem::path place = std::filesystem::absolute(options.output.empty() ? "." : options.output, error);
  const bool is_folder = options.output.empty() || options.output.ends_with('/') || is_directory(place, error);
  place = place.lexically_normal();
  if (place.has_filename() == false) place = place.parent_path();
  if (options.output.empty()) variables.emplace_back("CASTSCOPE_OUT", absl::StrCat(place.string(), "/"));
  const std::string folder = is_folder ? place.string() : place.parent_path().string();
  if (!std::filesystem::is_directory(folder, error))
    return absl::NotFoundError(absl::StrCat(folder,
                                            ": there is no such folder, and a container's tool would make it as "
                                            "root: make it first"));
  return folder;
}

int print_in_form(const EnvOptions& options, const std::vector<std::string>& assignments) {
  ForContainer made;
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    made.variables.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  if (is_of_container(form_of(options))) {
    const auto folder = output_folder(options, made.variables);
    const auto cache = cache_folder(Kept::kPackage);
    if (!folder.ok() || !cache.ok()) return fail(folder.ok() ? cache.status() : folder.status(), kUsage);
    made = for_container(made.variables, *cache, program_path(), *folder);
  }
  const auto text = in_form(form_of(options), made.variables, made.mounts);
  if (!text.ok()) return fail(text.status(), kUsage);
  return put(*text) ? 0 : kUsage;
}

// Adds how the job's processes reach the collector: its address, and the files that say who sends and who is believed.
absl::Status add_collector(CollectorAddress collector, std::vector<std::string>& variables) {
  if (collector.address.empty()) return absl::OkStatus();
  if (absl::Status status = complete(collector); !status.ok()) return status;
  if (auto channel = relay::connect(collector.address, collector.tls); !channel.ok()) return channel.status();
  variables.push_back(absl::StrCat("CASTSCOPE_COLLECTOR=", collector.address));
  for (const auto& [name, file] : {std::pair("CASTSCOPE_TOKEN_FILE", collector.token_file),
                                   std::pair("CASTSCOPE_CA", collector.tls.root_certificate_file)}) {
    if (file.empty()) continue;
    std::error_code error;
    variables.push_back(absl::StrCat(name, "=", std::filesystem::absolute(file, error).lexically_normal().string()));
    if (error) return absl::UnavailableError("the working directory is gone: give the files absolute names");
  }
  return absl::OkStatus();
}

absl::Status add_withholding(Withholding withholding, std::vector<std::string>& variables) {
  if (absl::Status status = complete(withholding); !status.ok()) return status;
  if (withholding.no_source) variables.emplace_back("CASTSCOPE_NO_SOURCE=1");
  if (const std::string pattern = pattern_of(withholding); !pattern.empty())
    variables.push_back(absl::StrCat("CASTSCOPE_REDACT=", pattern));
  return absl::OkStatus();
}

int print_environment(const EnvOptions& options) {
  std::vector<std::string> of_sending;
  absl::Status status = add_collector(options.collector, of_sending);
  if (status.ok()) status = add_withholding(options.withholding, of_sending);
  if (!status.ok()) return fail(status, kUsage);
  if (const std::string problem = problem_of_python(options.command); !problem.empty()) return fail(problem, kUsage);
  Preparation prepared = prepare_job(options.command, say, {.lend = !options.enforce.empty()});
  if (!prepared.is_preloaded) {
    say(absl::StrCat(prepared.unobserved_why, ": jobs would run unobserved"));
    return kIncompleteData;
  }
  if (!prepared.unobserved_why.empty()) say(with_what_follows(options, prepared.unobserved_why));
  std::vector<std::string> variables = std::move(prepared.variables);
  if (!add_policy(options, variables)) return kUsage;
  if (options.apex) variables.emplace_back(kApexVariable);
  if (!options.output.empty()) {
    std::error_code error;
    const std::string place = std::filesystem::absolute(options.output, error).string();
    if (error) return fail("the working directory is gone: give -o an absolute name", kUsage);
    variables.push_back(absl::StrCat("CASTSCOPE_OUT=", place));
  }
  if (!options.deep.empty()) variables.push_back(absl::StrCat("CASTSCOPE_DEEP=", options.deep));
  if (!options.gpu.empty()) variables.push_back(absl::StrCat("CASTSCOPE_GPU=", options.gpu));
  for (std::string& variable : of_sending) variables.push_back(std::move(variable));
  return print_in_form(options, variables);
}

// One of these at most.
void add_forms(const Command& command, EnvOptions& options) {
  command.flag("--plain", options.plain, "Print NAME=VALUE without export and quotes, for env(1)");
  const Option docker = command.flag("--docker", options.docker,
                                     "Print mounts and variables as options of docker run, podman run or nerdctl run");
  const Option apptainer = command.flag("--apptainer", options.apptainer,
                                        "Print exports by which apptainer or singularity mounts and sets the same");
  const Option k8s = command.flag("--k8s", options.k8s, "Print env, volumeMounts and volumes of a pod, as YAML");
  const Option slurm = command.flag("--slurm", options.slurm, "Print the option --export of sbatch and srun");
  const Option ray = command.flag("--ray", options.ray, "Print a runtime_env of Ray, as JSON");
  docker.excludes("--plain");
  apptainer.excludes("--plain").excludes("--docker");
  k8s.excludes("--plain").excludes("--docker").excludes("--apptainer");
  slurm.excludes("--plain").excludes("--docker").excludes("--apptainer").excludes("--k8s");
  ray.excludes("--plain").excludes("--docker").excludes("--apptainer").excludes("--k8s").excludes("--slurm");
}

}  // namespace

void add_env(CommandLine& line) {
  const Command command = line.subcommand("env", "Print the variables for use without `castscope run`");
  auto options = std::make_shared<EnvOptions>();
  command.option("-o,--output NAME", options->output, "Where the run goes, as for `castscope run`");
  command.option("--collector HOST:PORT", options->collector.address,
                 "Send the run to a `castscope serve` at HOST:PORT");
  command
      .option("--token-file FILE", options->collector.token_file,
              "A file whose first line is the collector's token; by default the one that CASTSCOPE_TOKEN_FILE names")
      .needs("--collector");
  command
      .option("--ca FILE", options->collector.tls.root_certificate_file,
              "CA certificate (PEM) that the collector's certificate is verified against; by default that of "
              "CASTSCOPE_CA")
      .existing_file()
      .needs("--collector");
  add_withholding_options(command, options->withholding);
  command.option("--deep STEPS", options->deep, "Which steps are deep, as for `castscope run`").check(deep_problem);
  command.option("--gpu", options->gpu, "Whether kernels are timed, as for `castscope run`")
      .one_of({"auto", "on", "events", "off"});
  command.option("--enforce POLICY", options->enforce, "Carry out this policy, as for `castscope run`").given();
  command.flag("--all-kernels", options->all_kernels, "As for `castscope run`").needs("--enforce");
  command.flag("--enforce-if-possible", options->enforce_if_possible, kEnforceIfPossibleHelp);
  command.flag("--apex", options->apex, kApexHelp);
  add_forms(command, *options);
  command.takes_other_words();
  command.takes_job("[-- PYTHON]");
  command.footer(absl::StrCat(
      "Examples:\n"
      "  eval \"$(castscope env)\"; python train.py\n"
      "  env $(castscope env --plain --collector localhost:7390) python train.py\n"
      "  castscope env --collector collector.example.org:7390 --token-file ~/.token --ca ca.pem > job.env\n"
      "  castscope env --no-source --redact '/home/[^/]+' > job.env\n"
      "  castscope env --enforce mine.json > job.env   # autocast then does what mine.json says\n"
      "  castscope env -- .venv/bin/python      # for the PyTorch of this Python\n"
      "  docker run $(castscope env --docker) IMAGE python train.py\n"
      "  eval \"$(castscope env --apptainer)\"; apptainer exec train.sif python train.py\n"
      "  castscope env --k8s > castscope.yaml   # three lists to be put into a pod's description\n"
      "  sbatch $(castscope env --slurm -o runs/) train.sh\n"
      "  ray job submit --runtime-env-json \"$(castscope env --ray -o runs/)\" -- python train.py\n\n"
      "The first process with PyTorch starts a detached relay process, which writes the run file when the last process "
      "with PyTorch has ended.\n\n",
      exit_statuses_of("env")));
  command.on_run([&line, options, command] {
    options->command = command.remaining();
    options->command.insert(options->command.end(), line.job.begin(), line.job.end());
    if (options->apex && options->enforce.empty()) options->enforce = kApexPolicy;
    if (options->enforce_if_possible && options->enforce.empty()) return fail(kIfPossibleAlone, kUsage);
    return print_environment(*options);
  });
}

}  // namespace castscope::cli
