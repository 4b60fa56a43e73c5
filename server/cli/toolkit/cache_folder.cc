#include "server/cli/toolkit/cache_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/machine/names.h"
#include "server/cli/toolkit/recipe.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

// Nested folders, the innermost of which is the cache.
struct CachePlace {
  std::string base;                 // the user's, or one that all users share
  std::vector<std::string> closed;  // below it: these are closed to others
  std::string path() const { return absl::StrCat(base, "/", absl::StrJoin(closed, "/")); }
};

std::string variable_with_path(const char* name) {
  const char* value = getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

// Several machines may share a home folder.
std::string key() { return absl::StrCat(source_hash(), "-" CASTSCOPE_MACHINE); }

std::vector<CachePlace> cache_places() {
  std::vector<CachePlace> result;
  const std::string cache = variable_with_path("XDG_CACHE_HOME"), home = variable_with_path("HOME");
  if (!cache.empty()) {
    result.push_back({cache, {"castscope", key()}});
  } else if (!home.empty()) {
    result.push_back({home + "/.cache", {"castscope", key()}});
  }
  // For a user without a home folder, or with one that is read-only or noexec.
  const std::string temporary = variable_with_path("TMPDIR");
  for (const std::string& base : {temporary, std::string("/tmp"), std::string("/var/tmp"), std::string("/dev/shm")}) {
    const bool known = std::ranges::any_of(result, [&](const CachePlace& place) { return place.base == base; });
    if (!base.empty() && !known) result.push_back({base, {absl::StrCat("castscope-", getuid()), "cache", key()}});
  }
  return result;
}

bool is_closed(const std::string& folder) {
  struct stat info;
  return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & 022) == 0;
}

// Whether nobody else can put another folder in its place.
bool stays_in_place(const std::string& folder) {
  constexpr uid_t kRoot = 0, kOutsideOfNamespace = 65534;
  std::error_code error;
  for (fs::path path = fs::canonical(folder, error); !error && !path.empty(); path = path.parent_path()) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) return false;
    const bool owner_is_safe = info.st_uid == geteuid() || info.st_uid == kRoot || info.st_uid == kOutsideOfNamespace;
    if (!owner_is_safe || ((info.st_mode & 002) != 0 && (info.st_mode & S_ISVTX) == 0)) return false;
    if (path == path.root_path()) return true;
  }
  return false;
}

bool is_trusted(const CachePlace& place) {
  std::string folder = place.base;
  for (const std::string& name : place.closed) {
    folder += "/" + name;
    if (!is_closed(folder)) return false;
  }
  return stays_in_place(place.base);
}

void make_folders(const CachePlace& place) {
  std::error_code error;
  fs::create_directories(place.base, error);
  std::string folder = place.base;
  for (const std::string& name : place.closed) {
    folder += "/" + name;
    mkdir(folder.c_str(), 0700);
  }
}

// Returns what is wrong with the place; "" = nothing.
std::string problem_of(const CachePlace& place, Kept kept, bool to_write) {
  const std::string path = place.path();
  if (path.find(':') != std::string::npos) return "it has a colon in its path";
  if (kept == Kept::kPreload && !fits_into_ld_preload(path)) return "it has a blank in its path";
  if (to_write) make_folders(place);
  std::error_code error;
  if (!is_trusted(place))
    return fs::exists(path, error) ? "others can write it, or a folder above it, or own it" : "you cannot write it";
  if (to_write && access(path.c_str(), W_OK) != 0) return "you cannot write it";
  if (kept != Kept::kPackage && is_noexec(path)) return "its file system is mounted noexec";
  return "";
}

// "/home/me/.cache/castscope"
std::string shown(const CachePlace& place) { return fs::path(place.path()).parent_path().string(); }

}  // namespace

bool fits_into_ld_preload(const std::string& path) { return path.find_first_of(": \t\n") == std::string::npos; }

bool is_noexec(const std::string& folder) {
  struct statvfs info;
  return statvfs(folder.c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC) != 0;
}

absl::StatusOr<std::string> cache_folder(Kept kept) {
  std::vector<std::string> tried;
  for (const CachePlace& place : cache_places()) {
    const std::string problem = problem_of(place, kept, true);
    if (problem.empty()) return place.path();
    tried.push_back(absl::StrCat(shown(place), ": ", problem));
  }
  return absl::UnavailableError(absl::StrCat("there is no folder to keep it in (", absl::StrJoin(tried, "; "),
                                             "): set XDG_CACHE_HOME to a folder that only you can write"));
}

std::vector<std::string> cache_folders(Kept kept) {
  std::vector<std::string> found;
  for (const CachePlace& place : cache_places())
    if (problem_of(place, kept, false).empty()) found.push_back(place.path());
  return found;
}

std::string folders_passed_over(Kept kept) {
  std::vector<std::string> passed;
  for (const CachePlace& place : cache_places()) {
    const std::string problem = problem_of(place, kept, true);
    if (problem.empty()) return absl::StrJoin(passed, "; ");
    passed.push_back(absl::StrCat(shown(place), " is not used: ", problem));
  }
  return "";  // cache_folder() says it
}

bool is_own_file(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid();
}

FolderLock::FolderLock(const std::string& folder, const Say* say)
    : fd_(open(absl::StrCat(folder, "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  if (fd_ < 0) return;
  constexpr timespec kLook{.tv_sec = 0, .tv_nsec = 50'000'000};
  while (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return;
    if (say != nullptr && holder_builds()) {
      (*say)(absl::StrCat("another castscope is building in ", folder, " (about a minute): this one waits for it"));
      say = nullptr;
    }
    nanosleep(&kLook, nullptr);
  }
  (void)ftruncate(fd_, 0);  // who held it before may have been killed while it built
}

// The file of the lock holds a byte while somebody builds.
bool FolderLock::holder_builds() const {
  struct stat info;
  return fstat(fd_, &info) == 0 && info.st_size > 0;
}

void FolderLock::note_build() {
  if (fd_ >= 0) (void)ftruncate(fd_, 1);
}

FolderLock::~FolderLock() {
  if (fd_ < 0) return;
  (void)ftruncate(fd_, 0);
  close(fd_);
}

}  // namespace castscope::cli
