#include "server/cli/toolkit/preload.h"

#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "server/cli/toolkit/cache_folder.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/embedded.h"
#include "server/cli/toolkit/library_file.h"

namespace castscope::cli {
namespace {

constexpr char kLibrary[] = "libcastscope.so", kTrivial[] = "castscope-trivial";

Preload in_folder(const std::string& folder) {
  return {absl::StrCat(folder, "/", kLibrary), absl::StrCat(folder, "/", kTrivial)};
}

bool is_usable(const std::string& folder) {
  const Preload there = in_folder(folder);
  return fits_into_ld_preload(there.library) && !is_noexec(folder) && holds(there.library, carried(kLibrary)) &&
         holds(there.trivial, carried(kTrivial));
}

}  // namespace

absl::StatusOr<Preload> obtain_preload() {
  const std::string beside = std::filesystem::path(program_path()).parent_path().string();
  if (is_usable(beside)) return in_folder(beside);
  const auto folder = cache_folder(Kept::kPreload);
  if (!folder.ok()) return folder.status();
  const Preload preload = in_folder(*folder);
  absl::Status status = write_library(preload.library, carried(kLibrary));
  if (status.ok()) status = write_library(preload.trivial, carried(kTrivial));
  if (!status.ok()) return status;
  // A bare LD_PRELOAD looks for the program, which is its relay, beside the library.
  const std::string link = absl::StrCat(*folder, "/castscope");
  std::error_code error;
  if (std::filesystem::read_symlink(link, error) != program_path()) {
    unlink(link.c_str());
    std::filesystem::create_symlink(program_path(), link, error);  // CASTSCOPE_BIN names it too
  }
  return preload;
}

}  // namespace castscope::cli
