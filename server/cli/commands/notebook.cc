// castscope notebook install: makes a kernel for Jupyter that runs under castscope.
#include <filesystem>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/job/job_environment.h"
#include "server/cli/job/kernelspec.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {
namespace {

struct NotebookOptions {
  std::string name = "castscope", display_name, prefix, output, deep;
  bool user = false, sys_prefix = false, force = false;
  std::vector<std::string> command;
};

std::string kernels_folder(const NotebookOptions& options, const JupyterPython& python) {
  const std::string prefix = options.sys_prefix ? python.prefix : options.prefix;
  const std::string data = prefix.empty() ? python.data_folder : absl::StrCat(prefix, "/share/jupyter");
  return absl::StrCat(data, "/kernels/", options.name);
}

// The kernel's start would otherwise wait for the agent, and Jupyter waits a minute at most.
std::string prepare(const std::string& python) {
  const Preparation prepared = prepare_job({python}, say, {});
  return prepared.unobserved_why;
}

int install(const NotebookOptions& options) {
  const std::vector<std::string> asked =
      options.command.empty() ? std::vector<std::string>{"python3"} : options.command;
  const std::string executable = find_in_path(asked[0]);
  if (executable.empty() || asked.size() != 1)
    return fail(absl::StrCat(asked[0], asked.size() > 1 ? " …: name a Python, and nothing behind it"
                                                        : ": there is no such Python"),
                kUsage);
  const auto python = ask_jupyter(executable);
  if (!python.ok()) return fail(python.status(), kUsage);
  std::error_code error;
  Kernelspec spec{.name = options.name, .display_name = options.display_name, .command = {program_path(), "run"}};
  if (spec.display_name.empty()) spec.display_name = absl::StrCat("Python ", python->version, " (castscope)");
  if (!options.output.empty()) {
    // A folder: each start of the kernel has a run of its own in it.
    const std::filesystem::path folder = std::filesystem::absolute(options.output, error) / "";
    spec.command.insert(spec.command.end(), {"-o", folder.string()});
  }
  if (!options.deep.empty()) spec.command.insert(spec.command.end(), {"--deep", options.deep});
  spec.command.insert(spec.command.end(), {"--", python->executable});
  const std::string folder = kernels_folder(options, *python);
  if (const absl::Status status = install_kernel(folder, spec, options.force); !status.ok())
    return fail(status, kUsage);
  if (!put(absl::StrCat("The kernel `", options.name, "` is in ", folder, ".\nIn Jupyter it is called \"",
                        spec.display_name, "\"; `jupyter kernelspec remove ", options.name, "` removes it.\n")))
    return kUsage;
  const std::string why = prepare(python->executable);
  if (why.empty()) return 0;
  return fail(absl::StrCat(why, ": the kernel runs unobserved until this is mended"), kIncompleteData);
}

}  // namespace

void add_notebook(CommandLine& line) {
  const Command group = line.subcommand("notebook", "Have notebooks run under castscope: install");
  group.footer("Example:\n  castscope notebook install");
  const Command command = group.subcommand("install", "Make a kernel for Jupyter that runs under castscope");
  auto options = std::make_shared<NotebookOptions>();
  command.option("--name NAME", options->name, "Jupyter's name of the kernel")
      .check(problem_of_kernel_name)
      .shows_default();
  command.option("--display-name TEXT", options->display_name, "How Jupyter shows it").given();
  command.flag("--user", options->user, "Where Jupyter looks for this user; it does so where nothing else is said");
  command.flag("--sys-prefix", options->sys_prefix, "In the environment of the Python").excludes("--user");
  command.option("--prefix FOLDER", options->prefix, "Below this folder, in share/jupyter")
      .given()
      .excludes("--user")
      .excludes("--sys-prefix");
  command.option("-o,--output FOLDER/", options->output, "Where its runs go; without it, beside the notebook").given();
  command.option("--deep STEPS", options->deep, "Which steps are deep, as for `castscope run`").check(deep_problem);
  command.flag("--force", options->force, "Overwrite a kernel of that name that is not castscope's");
  command.takes_other_words();
  command.takes_job("[-- PYTHON]");
  command.footer(
      absl::StrCat("Examples:\n"
                   "  castscope notebook install\n"
                   "  castscope notebook install --sys-prefix -- .venv/bin/python\n"
                   "  castscope notebook install --name train --display-name \"Training\" -o ~/runs/\n\n"
                   "A notebook with this kernel has a run for each start of the kernel. In it, `%load_ext castscope` "
                   "makes the magic "
                   "`%%castscope`, which shows what a cell cast and what castscope finds in it.\n\n",
                   exit_statuses_of("notebook install")));
  command.on_run([&line, options, command] {
    options->name = absl::AsciiStrToLower(options->name);  // as Jupyter knows it
    options->command = command.remaining();
    options->command.insert(options->command.end(), line.job.begin(), line.job.end());
    return install(*options);
  });
}

}  // namespace castscope::cli
