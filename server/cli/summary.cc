#include "server/cli/summary.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "server/report/terminal.h"

namespace castscope::cli {

void print_summary(const store::RunData& data, const Output& output) {
  report::TerminalOptions options;
  winsize size{};
  bool terminal = isatty(STDERR_FILENO) != 0;
  if (terminal && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = std::clamp<int>(size.ws_col, 20, 160);
  }
  const char* kind = getenv("TERM");
  options.colour = terminal && getenv("NO_COLOR") == nullptr && kind != nullptr && std::strcmp(kind, "dumb") != 0;
  options.run_file = output.run_file();
  options.report_file = output.report_file();
  std::string text = report::summary(data, options);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace castscope::cli
