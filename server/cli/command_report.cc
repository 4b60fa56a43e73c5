// castscope report, convert, version: questions to a finished run.
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "server/cli/commands.h"
#include "server/cli/recording.h"
#include "server/cli/summary.h"
#include "server/cli/version.h"
#include "server/report/convert.h"
#include "server/report/json.h"

namespace castscope::cli {
namespace {

struct ReportOptions {
  std::string run_file, output;
  bool force = false, summary = false;
};

int fail(const absl::Status& status) {
  say(std::string(status.message()));
  return kOwnFailure;
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat a, b;
  return stat(one.c_str(), &a) == 0 && stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// SQLite would take a file of such a name, once it is there, for a part of the run.
bool is_part_of(const std::string& run_file, const std::string& output) {
  namespace fs = std::filesystem;
  if (is_same_file(run_file, output)) return true;
  const std::string folder = fs::path(output).parent_path().string(),
                    of_run = fs::path(run_file).parent_path().string();
  const bool same_folder = is_same_file(folder.empty() ? "." : folder, of_run.empty() ? "." : of_run);
  const std::string name = fs::path(output).filename().string(), run_name = fs::path(run_file).filename().string();
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    if (is_same_file(run_file + suffix, output) || (same_folder && name == run_name + suffix)) return true;
  }
  return false;
}

// "" and "-" are standard output. An existing file is the user's until --force, and the run file for ever.
absl::Status refuse_output(const std::string& output, const std::string& run, bool force) {
  if (output.empty() || output == "-") return absl::OkStatus();
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(run, error);  // SQLite's files lie beside that
  const std::string run_file = error ? run : real.string();
  if (is_part_of(run_file, output) || is_same_file(run_file, output + ".new")) {  // where it is written at first
    return absl::InvalidArgumentError(absl::StrCat(output, " is the run itself: choose another -o FILE"));
  }
  if (force || !std::filesystem::exists(output, error)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(output, " exists: choose another -o FILE, or --force"));
}

absl::Status write_stdout(const std::string& text) {
  bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? absl::OkStatus() : absl::UnavailableError("standard output cannot be written");
}

int report(const ReportOptions& options) {
  absl::Status status = refuse_output(options.output, options.run_file, options.force);
  if (!status.ok()) return fail(status);
  auto data = store::read_run(options.run_file);
  if (!data.ok()) return fail(data.status());
  if (options.summary) {
    print_summary(*data, {std::filesystem::path(options.run_file).replace_extension().string()});
    return 0;
  }
  std::string text = report::json_text(*data);
  status = options.output.empty() || options.output == "-" ? write_stdout(text) : write_text_file(options.output, text);
  return status.ok() ? 0 : fail(status);
}

int convert(const ReportOptions& options, const std::string& format_name) {
  absl::Status status = refuse_output(options.output, options.run_file, options.force);
  if (!status.ok()) return fail(status);
  auto format = report::event_format(format_name);
  if (!format) return fail(absl::InvalidArgumentError(absl::StrCat("there is no format ", format_name)));
  if (options.output.empty() || options.output == "-") {
    status = report::convert(options.run_file, *format, std::cout);
    std::cout.flush();
    if (status.ok() && !std::cout) status = absl::UnavailableError("standard output cannot be written");
  } else {
    std::ofstream file(options.output, std::ios::binary | std::ios::trunc);
    if (!file) return fail(absl::UnavailableError(absl::StrCat(options.output, " cannot be written")));
    status = report::convert(options.run_file, *format, file);
    file.close();
    if (status.ok() && !file) status = absl::UnavailableError(absl::StrCat(options.output, " cannot be written"));
  }
  return status.ok() ? 0 : fail(status);
}

}  // namespace

void add_report(CommandLine& line) {
  auto* command = line.app.add_subcommand("report", "Give the JSON report of a run file");
  auto options = std::make_shared<ReportOptions>();
  command->add_option("RUN", options->run_file, "NAME.castscope")->required();
  command->add_option("-o,--output", options->output, "A file instead of standard output");
  command->add_flag("--force", options->force, "Overwrite a file that exists");
  command->add_flag("--summary", options->summary, "The summary for people, on stderr, instead of JSON");
  command->footer(
      "Examples:\n"
      "  castscope report train.castscope | jq .totals\n"
      "  castscope report train.castscope -o train.json --force\n"
      "  castscope report --summary train.castscope");
  command->callback([&line, options] { line.run = [options] { return report(*options); }; });
}

void add_convert(CommandLine& line) {
  auto* command = line.app.add_subcommand("convert", "Give the single events of a run file to other tools");
  auto options = std::make_shared<ReportOptions>();
  auto format = std::make_shared<std::string>("jsonl");
  command->add_option("RUN", options->run_file, "NAME.castscope")->required();
  command->add_option("-f,--format", *format, "jsonl: one object a line; chrome: for chrome://tracing and Perfetto")
      ->check(CLI::IsMember({"jsonl", "chrome"}))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "A file instead of standard output");
  command->add_flag("--force", options->force, "Overwrite a file that exists");
  command->footer(
      "Examples:\n"
      "  castscope convert train.castscope | head\n"
      "  castscope convert -f chrome -o trace.json train.castscope");
  command->callback([&line, options, format] { line.run = [options, format] { return convert(*options, *format); }; });
}

void add_version(CommandLine& line) {
  auto* command = line.app.add_subcommand("version", "Say which castscope this is");
  command->callback([&line] {
    line.run = [] {
      std::printf("castscope %s\n", kVersion);
      return 0;
    };
  });
}

}  // namespace castscope::cli
