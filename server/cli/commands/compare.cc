// castscope compare: the same code in eager, script, trace, compile and export, operator by operator. The Python
// package makes the comparison (castscope.modes), and runs in the script's own Python, which this command starts.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/python_package.h"
#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {
namespace {

struct CompareOptions {
  std::string modes, json, html, output, format = "text", color = "auto", python;
  bool force = false;
  std::vector<std::string> entries, inputs;
};

using Words = std::vector<std::string>;

constexpr const char* kHow =
    "castscope compare -- python SCRIPT, or castscope compare --entry MODULE:FUNCTION "
    "--inputs MODULE:FUNCTION";

Words given_options(const CompareOptions& options) {
  Words words = {"--format", options.format, "--color", options.color};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  add("--modes", options.modes);
  add("--json", options.json);
  add("--html", options.html);
  add("--output", options.output);
  if (options.force) words.emplace_back("--force");
  for (const std::string& entry : options.entries) add("--entry", entry);
  for (const std::string& inputs : options.inputs) add("--inputs", inputs);
  return words;
}

// Returns the index of the script's name or of `-m`, behind Python's own options; job.size() when there is none.
std::size_t begin_of_script(const Words& job) {
  std::size_t at = 1;
  while (at < job.size() && absl::StartsWith(job[at], "-") && job[at] != "-m" && job[at] != "-c") {
    const bool takes_value = job[at] == "-W" || job[at] == "-X" || job[at] == "--check-hash-based-pycs";
    at += takes_value ? 2 : 1;
  }
  return std::min(at, job.size());
}

// Returns the command that runs the comparison in the job's Python. `wrong` becomes "", or what is wrong.
Words comparison_of(const CompareOptions& options, const Words& job, std::string* wrong) {
  Words command;
  std::size_t script = 0;
  if (job.empty()) {
    if (options.entries.empty()) *wrong = absl::StrCat("nothing to compare: ", kHow);
    command = {options.python.empty() ? "python3" : options.python};
  } else if (!options.entries.empty() || !options.python.empty()) {
    *wrong = "--entry and --python are for functions by their names; after -- stands a script that marks its own";
  } else {
    const std::string program = find_in_path(job[0]);
    const bool begins_with_python = !program.empty() && named_python(job) == program;
    script = begin_of_script(job);
    if (begins_with_python && script < job.size() && job[script] == "-c")
      *wrong = absl::StrCat("-c has no file to look into: put the code into a script; ", kHow);
    else if (program.empty())
      *wrong = absl::StrCat(job[0], ": there is no such program");
    else if (!begins_with_python)
      *wrong = absl::StrCat(job[0], ": the command must begin with Python itself: castscope compare -- python SCRIPT");
    else if (script == job.size())
      *wrong = absl::StrCat("a script, or -m and a module, must follow: ", kHow);
    command.assign(job.begin(), job.begin() + static_cast<std::ptrdiff_t>(script));
  }
  if (!wrong->empty()) return {};
  command.insert(command.end(), {"-m", "castscope.modes"});
  for (std::string& word : given_options(options)) command.push_back(std::move(word));
  command.insert(command.end(), job.begin() + static_cast<std::ptrdiff_t>(script), job.end());
  return command;
}

// Runs are compared by another command.
std::string about_words(const Words& words) {
  const bool are_runs = std::ranges::any_of(words, [](const std::string& word) {
    return absl::EndsWith(word, ".castscope") || absl::EndsWith(word, ".json");
  });
  const std::string all = absl::StrJoin(words, " ");
  if (are_runs) return absl::StrCat("`castscope diff ", all, "` compares runs; this command compares modes: ", kHow);
  return absl::StrCat("these words stand for nothing: ", all, "; ", kHow);
}

int compare(const CompareOptions& options, const Words& extra, const Words& job) {
  std::string wrong = extra.empty() ? "" : about_words(extra);
  const Words command = wrong.empty() ? comparison_of(options, job, &wrong) : Words();
  if (!wrong.empty()) {
    say(wrong);
    return kUsage;
  }
  const auto python = probe_python(command[0]);
  if (!python.ok()) {
    say(std::string(python.status().message()));
    return kUsage;
  }
  if (!python->torch) {
    say(absl::StrCat(python->executable, " has no PyTorch", python->torch_problem.empty() ? "" : ": ",
                     python->torch_problem));
    return kUsage;
  }
  Words changes = {"CASTSCOPE_PROGRAM=castscope compare"};
  if (!python->has_castscope) {
    const auto package = obtain_python_package();
    if (!package.ok()) {
      say(std::string(package.status().message()));
      return kIncompleteData;
    }
    const char* path = getenv("PYTHONPATH");
    changes.push_back(absl::StrCat("PYTHONPATH=", *package, path == nullptr || *path == '\0' ? "" : ":",
                                   path == nullptr ? "" : path));
  }
  std::vector<std::string> environment = environment_with(changes);
  std::vector<char*> arguments, variables;
  Words words = command;
  for (std::string& word : words) arguments.push_back(word.data());
  for (std::string& variable : environment) variables.push_back(variable.data());
  arguments.push_back(nullptr);
  variables.push_back(nullptr);
  execvpe(arguments[0], arguments.data(), variables.data());
  say(absl::StrCat(command[0], ": ", strerror(errno)));
  return kIncompleteData;
}

}  // namespace

void add_compare(CommandLine& line) {
  const Command command = line.subcommand(
      "compare", "Run the same code in eager, script, trace, compile and export, and tell where precisions differ");
  auto options = std::make_shared<CompareOptions>();
  command
      .option("--entry MODULE:FUNCTION", options->entries,
              "A function to compare; may be given again, each with --inputs")
      .given();
  command
      .option("--inputs MODULE:FUNCTION", options->inputs,
              "The function that makes the inputs of the --entry before it")
      .given();
  command.option("--python PYTHON", options->python, "The Python that runs --entry (default: python3)").given();
  command
      .option(
          "--modes MODES", options->modes,
          "Compare only these of script,trace,compile,export with eager, which always runs; with commas between them")
      .given();
  command.option("--json FILE", options->json, "Write the comparisons into this file too, as JSON").given();
  command.option("--html FILE", options->html, "Write them into this file too, as a page with their tables").given();
  command.option("-o,--output FILE", options->output, "Write to this file instead of standard output").given();
  command.flag("--force", options->force, "Overwrite files that exist");
  command.option("-f,--format", options->format, "text, json or html").one_of({"text", "json", "html"}).shows_default();
  command.option("--color", options->color, "auto (on a terminal), always or never")
      .one_of({"auto", "always", "never"})
      .shows_default();
  command.takes_other_words();
  command.takes_job("[-- python SCRIPT [ARGUMENT...]]");
  command.footer(absl::StrCat(
      "A script says what is compared, with `@castscope.entry(inputs=make_inputs)` on a function, or\n"
      "`castscope.entry(inputs=make_inputs)(model)`; it is run as Python runs it, then its entries are compared.\n\n"
      "Examples:\n"
      "  castscope compare -- python train.py --epochs 0\n"
      "  castscope compare --modes script,compile -- python -m project.train\n"
      "  castscope compare --entry project.model:step --inputs project.model:make_batch\n"
      "  castscope compare --json modes.json --html modes.html -- python train.py\n"
      "  castscope compare -f html -o modes.html --force -- python train.py\n\n",
      exit_statuses_of("compare")));
  command.on_run([&line, options, command] { return compare(*options, command.remaining(), line.job); });
}

}  // namespace castscope::cli
