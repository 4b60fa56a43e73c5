#include "server/cli/job/inherited_signals.h"

#include <signal.h>

namespace castscope::cli {
namespace {

bool inherited_ignored_child = false, changed_file_size = false;

}  // namespace

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void put_aside_inherited_signals() {
  inherited_ignored_child = is_ignored(SIGCHLD);
  if (inherited_ignored_child) signal(SIGCHLD, SIG_DFL);
  changed_file_size = !is_ignored(SIGXFSZ);
  if (changed_file_size) signal(SIGXFSZ, SIG_IGN);
}

void give_back_inherited_signals() {
  if (inherited_ignored_child) signal(SIGCHLD, SIG_IGN);
  if (changed_file_size) signal(SIGXFSZ, SIG_DFL);
}

bool ignores_file_size() { return changed_file_size; }

}  // namespace castscope::cli
