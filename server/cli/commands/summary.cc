#include "server/cli/commands/summary.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "server/cli/commands/commands.h"
#include "server/report/forms/terminal.h"

namespace castscope::cli {
namespace {

// The file as it is called in the current folder, if it lies in there.
std::string from_here(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error || file.empty()) return file;
  const fs::path near = fs::path(file).lexically_proximate(here);
  return near.empty() || *near.begin() == ".." ? file : near.string();
}

}  // namespace

int terminal_width(int file) {
  winsize size{};
  const bool known = isatty(file) != 0 && ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::clamp<int>(size.ws_col, 20, 160) : 80;
}

void print_summary(const judging::JudgedRun& run, const SummaryFiles& files, const std::string& form) {
  report::TerminalOptions options;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  options.width = terminal_width(STDERR_FILENO);
  const char* kind = getenv("TERM");
  options.colour = terminal && getenv("NO_COLOR") == nullptr && kind != nullptr && std::strcmp(kind, "dumb") != 0;
  options.full = form == kFullSummary;
  options.run_file = files.run_file;
  options.run_argument = from_here(files.run_file);
  options.report_file = files.report_file;
  tell(report::summary(report::model_of(run), options));
}

}  // namespace castscope::cli
