#include "server/cli/toolkit/toolkit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "server/cli/toolkit/embedded.h"
#include "server/cli/toolkit/recipe.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

// A build leaves the hash of its sources beside its output: an outdated output is not used.
bool built_from_these_sources(const fs::path& folder) {
  std::ifstream file(folder / "castscope.sources");
  std::string hash;
  return file >> hash && hash == source_hash();
}

fs::path beside_program() { return fs::path(program_path()).parent_path(); }

// Nested folders. Files in the innermost one are loaded into the job, so nobody else may write there.
struct CachePlace {
  std::string base;  // the user's, or a shared one
  std::vector<std::string> closed;
  std::string path() const { return absl::StrCat(base, "/", absl::StrJoin(closed, "/")); }
};

std::string variable_with_path(const char* name) {
  const char* value = getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::vector<CachePlace> cache_places() {
  std::vector<CachePlace> result;
  const std::string cache = variable_with_path("XDG_CACHE_HOME"), home = variable_with_path("HOME");
  if (!cache.empty()) {
    result.push_back({cache, {"castscope", source_hash()}});
  } else if (!home.empty()) {
    result.push_back({home + "/.cache", {"castscope", source_hash()}});
  }
  // For a user without a home folder, or with a read-only one.
  const std::string temporary = variable_with_path("TMPDIR");
  result.push_back(
      {temporary.empty() ? "/tmp" : temporary, {absl::StrCat("castscope-", getuid()), "cache", source_hash()}});
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

bool make_folders(const CachePlace& place) {
  std::error_code error;
  fs::create_directories(place.base, error);
  std::string folder = place.base;
  for (const std::string& name : place.closed) {
    folder += "/" + name;
    mkdir(folder.c_str(), 0700);
  }
  return is_trusted(place) && access(folder.c_str(), W_OK) == 0;
}

class FolderLock {
 public:
  // `say` is null for who needs the folder for a moment only: others like it are the rule.
  FolderLock(const std::string& folder, const Say* say)
      : fd_(open(absl::StrCat(folder, "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ < 0 || flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
    if (errno == EWOULDBLOCK && say != nullptr)
      (*say)(absl::StrCat("another castscope is building in ", folder, " (about a minute): this one waits for it"));
    while (fd_ >= 0 && flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  int fd_;
};

std::string existing(const std::vector<std::string>& candidates) {
  for (const std::string& path : candidates) {
    if (!path.empty() && access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

std::string in_cache(const std::string& name) {
  auto folder = cache_folder(false);
  return folder.ok() ? absl::StrCat(*folder, "/", name) : "";
}

// Keeps the compiler's messages of a failed build, so that not every run tries again for half a minute. Another
// compiler gets its chance.
class BuildLog {
 public:
  explicit BuildLog(const std::string& output)
      : path_(output + ".log"), compiler_(absl::StrJoin(cxx_compiler(), " ")) {}
  const std::string& path() const { return path_; }
  bool tells_of_failure() const {
    std::ifstream file(path_);
    std::string first;
    return std::getline(file, first) && first == compiler_;
  }
  // Only the compiler's own failure is kept: something that was missing may be there the next time.
  absl::Status keep(const absl::Status& status) const {
    unlink(path_.c_str());
    if (!absl::IsUnknown(status)) return status;
    std::ofstream(path_) << compiler_ << "\n" << status.message() << "\n";
    return absl::UnavailableError(absl::StrCat("the compiler fails, with the messages in ", path_));
  }

 private:
  std::string path_, compiler_;
};

// The lookup is repeated under the lock: another process may have built the file meanwhile.
template <typename Find, typename Build>
absl::StatusOr<std::string> obtain(const std::string& name, const Say& say, Find find, Build build) {
  std::string found = find();
  if (!found.empty()) return found;
  auto folder = cache_folder(true);
  if (!folder.ok()) return folder.status();
  const FolderLock lock(*folder, &say);
  found = find();
  if (!found.empty()) return found;
  absl::Status status = extract_sources(absl::StrCat(*folder, "/src"));
  if (!status.ok()) return status;
  std::string output = absl::StrCat(*folder, "/", name);
  status = build(absl::StrCat(*folder, "/src"), output);
  if (!status.ok()) return status;
  return output;
}

}  // namespace

std::string program_path() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

absl::StatusOr<std::string> cache_folder(bool make) {
  std::vector<std::string> tried;
  for (const CachePlace& place : cache_places()) {
    if (make ? make_folders(place) : is_trusted(place)) return place.path();
    tried.push_back(fs::path(place.path()).parent_path().string());
  }
  if (!make) return absl::NotFoundError("nothing has been built yet");
  return absl::UnavailableError(absl::StrCat("neither ", absl::StrJoin(tried, " nor "),
                                             " is a folder that can be written by you, and by nobody else: set "
                                             "XDG_CACHE_HOME to one"));
}

std::string agent_file_name(const TorchInstall& torch) { return absl::StrCat("castscope_agent-", torch.key, ".so"); }

std::string find_preload() {
  fs::path here = beside_program();
  return existing(
      {built_from_these_sources(here) ? (here / "libcastscope.so").string() : "", in_cache("libcastscope.so")});
}

std::string find_agent(const TorchInstall& torch) {
  fs::path agents = beside_program() / "agents";
  std::string name = agent_file_name(torch);
  return existing({built_from_these_sources(agents) ? (agents / name).string() : "", in_cache(name)});
}

absl::StatusOr<std::string> obtain_preload(const Say& say) {
  return obtain("libcastscope.so", say, find_preload, [&](const std::string& sources, const std::string& output) {
    say(absl::StrCat("building the preload library (once, into ", fs::path(output).parent_path().string(), ")"));
    // A bare LD_PRELOAD looks for the program, which is its relay, beside the library.
    std::string link = (fs::path(output).parent_path() / "castscope").string();
    unlink(link.c_str());
    if (symlink(program_path().c_str(), link.c_str()) != 0) say(absl::StrCat(link, ": ", strerror(errno)));
    return compile_preload(sources, output);
  });
}

absl::StatusOr<std::string> obtain_agent(const TorchInstall& torch, const Say& say, bool try_again) {
  return obtain(
      agent_file_name(torch), say, [&] { return find_agent(torch); },
      [&](const std::string& sources, const std::string& output) -> absl::Status {
        BuildLog log(output);
        if (!try_again && log.tells_of_failure()) {
          return absl::UnavailableError(absl::StrCat("the compiler failed before, with the messages in ", log.path(),
                                                     "; `castscope doctor --build` tries again"));
        }
        auto begin = std::chrono::steady_clock::now();
        say(absl::StrCat("building the agent for PyTorch ", torch.version, " (once, about a minute, into ",
                         fs::path(output).parent_path().string(), ")"));
        absl::Status status = compile_agent(sources, torch, output);
        std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        if (status.ok()) say(absl::StrFormat("the agent was built in %.0f s", took.count()));
        return log.keep(status);
      });
}

absl::StatusOr<std::string> obtain_python_package() {
  auto folder = cache_folder(true);
  if (!folder.ok()) return folder.status();
  const FolderLock lock(*folder, nullptr);
  absl::Status status = extract_sources(absl::StrCat(*folder, "/src"));
  if (!status.ok()) return status;
  return absl::StrCat(*folder, "/src/agent/python/lending");
}

std::string agent_search_path() {
  const char* given = getenv("CASTSCOPE_AGENTS");
  std::string path = given != nullptr ? given : "";
  auto add = [&](const std::string& folder) {
    const bool known = absl::StrContains(absl::StrCat(":", path, ":"), absl::StrCat(":", folder, ":"));
    if (!folder.empty() && !known) absl::StrAppend(&path, path.empty() ? "" : ":", folder);
  };
  fs::path agents = beside_program() / "agents";
  if (built_from_these_sources(agents)) add(agents.string());
  auto cache = cache_folder(true);
  if (cache.ok()) add(*cache);
  return path;
}

}  // namespace castscope::cli
