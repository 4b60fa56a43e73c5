#include "server/cli/job/policy_variables.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/cli/toolkit/cache_folder.h"
#include "server/cli/toolkit/fresh_file.h"
#include "server/policy/compiled.h"

namespace castscope::cli {

// Compiled graphs know nothing of policies: PyTorch's caches of them must not return what was compiled under another
// policy. With `if_possible` nobody knows beforehand which of the job's processes follow it, so that the job shares no
// compiled graphs with other jobs.
std::vector<std::string> enforcing_variables(const std::string& compiled, const std::string& path, bool all_kernels,
                                             bool if_possible) {
  std::vector<std::string> variables = {absl::StrCat("CASTSCOPE_ENFORCE=", path)};
  if (all_kernels) variables.emplace_back("CASTSCOPE_ALL_KERNELS=1");
  // Also where a castscope around this one has set it.
  variables.push_back(absl::StrCat("CASTSCOPE_ENFORCE_IF_POSSIBLE=", if_possible ? "1" : ""));
  std::string tag = absl::StrCat("castscope-", policy::hash_of_compiled(compiled));
  if (if_possible) absl::StrAppend(&tag, "-", absl::ToUnixNanos(absl::Now()), "-", getpid());
  const char* const before = getenv("TORCH_COMPILE_CACHE_KEY_TAG");
  variables.push_back(absl::StrCat("TORCH_COMPILE_CACHE_KEY_TAG=", before == nullptr ? "" : before, tag));
  return variables;
}

absl::StatusOr<std::string> keep_compiled(const std::string& compiled) {
  const absl::StatusOr<std::string> cache = cache_folder(Kept::kPackage);
  if (!cache.ok()) return cache.status();
  const std::string path = absl::StrCat(*cache, "/policy-", policy::hash_of_compiled(compiled));
  FreshFile file(path);
  if (file.is_open()) file.stream() << compiled;
  if (!file.is_open() || !file.keep())
    return absl::UnavailableError(absl::StrCat(path, " cannot be written: ", strerror(file.error())));
  return path;
}

}  // namespace castscope::cli
