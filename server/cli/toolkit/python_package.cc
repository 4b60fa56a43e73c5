#include "server/cli/toolkit/python_package.h"

#include "absl/strings/str_cat.h"
#include "server/cli/toolkit/cache_folder.h"
#include "server/cli/toolkit/embedded.h"

namespace castscope::cli {

absl::StatusOr<std::string> obtain_python_package() {
  auto folder = cache_folder(Kept::kPackage);
  if (!folder.ok()) return folder.status();
  const absl::Status status = extract_sources(absl::StrCat(*folder, "/src"));
  if (!status.ok()) return status;
  return absl::StrCat(*folder, "/src/agent/python/lending");
}

}  // namespace castscope::cli
