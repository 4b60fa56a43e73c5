#include "server/cli/attaching/find_run.h"

#include "server/cli/attaching/control_page.h"

namespace castscope::cli {

std::optional<Target> target_of(pid_t pid) {
  for (const RunDirectory& directory : RunDirectory::all()) {
    if (!ControlPage::all(directory.path(), pid).empty()) return Target{directory, pid};
    if (!directory.is_recorded()) continue;
    const auto record = directory.read_record();
    if (record.has_value() && record->pid == pid) return Target{directory, 0};
  }
  return std::nullopt;
}

}  // namespace castscope::cli
