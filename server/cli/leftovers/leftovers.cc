#include "server/cli/leftovers/leftovers.h"

#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/cli/job/proc.h"
#include "server/cli/recording/withholding.h"
#include "server/report/text/words.h"
#include "server/store/read/run_heading.h"

namespace castscope::cli {
namespace {

// The list of runs is for the terminal of their user, and terminals are looked at and copied from.
std::shared_ptr<redaction::Redaction> redaction_of(const std::optional<RunRecord>& record) {
  return cli::redaction_of(record ? record->redact : pattern_of(withheld_by_environment()));
}

std::string command_of(const RunDirectory& directory, std::size_t most_bytes) {
  const auto record = directory.read_record();
  const auto redaction = redaction_of(record);
  if (record && !record->command.empty()) return one_line(redaction->line(record->command), most_bytes);
  for (const pid_t pid : directory.attached()) {
    const std::string words = redaction->line(command_line(pid));
    if (!words.empty()) return one_line(words, most_bytes);
  }
  return "";
}

std::string age(std::int64_t seconds) {
  struct Unit {
    std::int64_t seconds;
    const char *one, *many;
  };
  constexpr Unit kUnits[] = {{86'400, "day", "days"}, {3'600, "hour", "hours"}, {60, "minute", "minutes"}};
  for (const Unit& unit : kUnits) {
    if (seconds >= unit.seconds)
      return report::counted(static_cast<std::uint64_t>(seconds / unit.seconds), unit.one, unit.many) + " ago";
  }
  return "less than a minute ago";
}

std::string writers(const RunDirectory& directory) {
  std::vector<std::string> all;
  const auto redaction = redaction_of(directory.read_record());
  for (const pid_t pid : directory.living_processes())
    all.push_back(absl::StrCat("process ", pid, " (", one_line(redaction->line(command_line(pid)), 60), ")"));
  return all.empty() ? "no process any more" : report::listed(all);
}

std::string destination(const RunDirectory& directory) {
  const auto record = directory.read_record();
  if (record && !record->collector.empty()) return absl::StrCat("the collector at ", record->collector);
  if (!record || record->stem.empty()) return "the folder in which `castscope recover` is called";
  const std::string file = record->stem + ".castscope";
  std::error_code error;
  if (!std::filesystem::exists(file, error) || is_file_of(file, directory)) return file;
  return absl::StrCat("the folder in which `castscope recover` is called, since ", file, " is another file now");
}

bool tells_of_run(const RunDirectory& directory) { return directory.has_segments() || directory.read_record(); }

}  // namespace

std::string moment(std::int64_t second, std::int64_t now) {
  const std::time_t time = second;
  std::tm local{};
  localtime_r(&time, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return absl::StrCat(text, ", ", age(now - second));
}

std::vector<RunDirectory> leftovers() {
  std::vector<RunDirectory> all = RunDirectory::all();
  std::erase_if(all, [](const RunDirectory& directory) { return directory.is_recorded() || !tells_of_run(directory); });
  return all;
}

std::vector<RunDirectory> empty_ones() {
  constexpr int kMayBegin = 60;  // seconds in which a run may put its first files into its directory
  const std::int64_t old = std::time(nullptr) - kMayBegin;
  std::vector<RunDirectory> all = RunDirectory::all();
  std::erase_if(all, [old](const RunDirectory& directory) {
    return tells_of_run(directory) || directory.has_living_process() || directory.made_at() > old;
  });
  return all;
}

bool is_file_of(const std::string& path, const RunDirectory& directory) {
  const auto heading = store::read_heading(path);
  return heading.ok() && heading->start.run_id == directory.id();
}

std::string told(const RunDirectory& directory, std::int64_t now) {
  const auto record = directory.read_record();
  std::string text = report::on_one_line(directory.path()) + "\n";
  const auto line = [&](const char* name, const std::string& value) {
    if (!value.empty()) absl::StrAppendFormat(&text, "  %-9s %s\n", name, report::on_one_line(value));
  };
  line("began", moment(record ? record->begin_realtime_ns / 1'000'000'000 : directory.made_at(), now));
  line("command", command_of(directory, 200));
  line("in", record ? record->cwd : "");
  line("job", record ? record->job : "");
  line("size", absl::StrFormat("%.1f MB", static_cast<double>(directory.bytes()) / 1e6));
  line("written", "by " + writers(directory));
  line("goes to", destination(directory));
  return text;
}

std::string title(const RunDirectory& directory) {
  const std::string command = command_of(directory, 100);
  return absl::StrCat(directory.path(), command.empty() ? "" : ": ", command);
}

}  // namespace castscope::cli
