#include "server/cli/loading/job_loader.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "agent/machine/names.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/elf.h"

namespace castscope::cli {
namespace {

// What the job's processes most likely have, where its own program says nothing.
JobLoader usual_loader() { return {access(CASTSCOPE_USUAL_LOADER, X_OK) == 0 ? CASTSCOPE_USUAL_LOADER : "", ""}; }

}  // namespace

JobLoader loader_of(const std::vector<std::string>& command) {
  constexpr int kMostScripts = 5;  // the kernel follows no more #! lines than four
  std::string program = command.empty() ? "" : find_in_path(command[0]);
  for (int i = 0; i < kMostScripts && !program.empty(); i++) {
    const auto started = interpreter_of(program);
    if (!started.ok() || started->kind == Interpreter::Kind::kNone) break;
    if (started->kind == Interpreter::Kind::kLoader) {
      if (!started->is_64_bit) return {started->path, absl::StrCat(program, " is a program of 32 bits")};
      return {started->path, ""};
    }
    program = find_in_path(started->path);
  }
  return usual_loader();
}

}  // namespace castscope::cli
