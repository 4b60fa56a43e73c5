#include "server/cli/agents/agents.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "server/cli/agents/prebuilt.h"
#include "server/cli/agents/proof.h"
#include "server/cli/toolkit/build_log.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/elf.h"
#include "server/cli/toolkit/embedded.h"
#include "server/cli/toolkit/library_file.h"
#include "server/cli/toolkit/recipe.h"
#include "server/files/plain_file.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

// A build leaves the hash of its sources beside its output: an outdated output is not used.
bool built_from_these_sources(const fs::path& folder) {
  std::istringstream file(files::text_or_nothing((folder / "castscope.sources").string()));
  std::string hash;
  return file >> hash && hash == source_hash();
}

fs::path beside_program() { return fs::path(program_path()).parent_path(); }

// Returns the first of them that is whole.
std::string existing(const std::vector<std::string>& candidates) {
  for (const std::string& path : candidates) {
    if (access(path.c_str(), R_OK) == 0 && is_sealed(path)) return path;
  }
  return "";
}

// An agent usually loads wherever its PyTorch does. One that a newer compiler made may ask for more: it lies in a
// folder of its own, named by what it asks for, which only those machines use that have it.
constexpr char kNeeds[] = "needs";

std::string folder_of_needs(const std::vector<SymbolVersion>& needs) {
  std::string name = kNeeds;
  for (const SymbolVersion& version : needs) absl::StrAppend(&name, "-", version.text());
  return name;
}

bool has_glibc(const std::string& glibc, const SymbolVersion& needed) {
  return needed.name != "GLIBC" || parsed_version("GLIBC_" + glibc).numbers >= needed.numbers;
}

std::vector<std::string> folders_of_needs(const std::string& cache, const std::string& glibc) {
  std::vector<std::string> result;
  if (glibc.empty()) return result;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(cache, error)) {
    const std::string name = entry.path().filename().string();
    const std::vector<std::string> words = absl::StrSplit(name, '-');
    if (words[0] == kNeeds && std::all_of(words.begin() + 1, words.end(), [&](const std::string& word) {
          return has_glibc(glibc, parsed_version(word));
        }))
      result.push_back(entry.path().string());
  }
  std::sort(result.begin(), result.end());
  return result;
}

// Returns the caches, and in each the folders of agents that will do with this glibc.
std::vector<std::string> cached_folders(const std::string& glibc) {
  std::vector<std::string> result;
  for (const std::string& cache : cache_folders(Kept::kAgent)) {
    result.push_back(cache);
    for (const std::string& folder : folders_of_needs(cache, glibc)) result.push_back(folder);
  }
  return result;
}

// The folder in which the agent stays: the cache, or one in it.
absl::StatusOr<fs::path> place_of(const TorchInstall& torch, const std::string& built, const fs::path& cache) {
  const auto beyond = versions_beyond_torch(built, torch);
  if (!beyond.ok()) return beyond.status();
  const fs::path place = beyond->empty() ? cache : cache / folder_of_needs(*beyond);
  std::error_code error;
  fs::create_directory(place, error);
  return place;
}

// A folder in which no job looks for agents: what is in it has not passed its self-test. It is deleted in the end. Who
// makes one holds the lock of the cache, so any other one is of a castscope that was interrupted.
class Unproved {
 public:
  explicit Unproved(const fs::path& cache) : folder_(cache / absl::StrCat(kName, getpid())) {
    for (const auto& entry : fs::directory_iterator(cache, error_)) {
      if (entry.path().filename().string().starts_with(kName)) fs::remove_all(entry.path(), error_);
    }
    error_.clear();
    fs::create_directory(folder_, error_);
  }
  Unproved(const Unproved&) = delete;
  Unproved& operator=(const Unproved&) = delete;
  ~Unproved() { fs::remove_all(folder_, error_); }
  absl::Status status() const {
    if (!error_) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat(folder_.string(), " cannot be made: ", error_.message()));
  }
  std::string agent(const TorchInstall& torch) const { return (folder_ / agent_file_name(torch)).string(); }

 private:
  static constexpr char kName[] = "unproved-";
  fs::path folder_;
  std::error_code error_;
};

// Tests what lies in the folder for unproved agents, and puts it into its place. Returns its path there.
absl::StatusOr<std::string> installed(const PythonInstall& python, const std::string& agent, const fs::path& cache,
                                      const Say& say) {
  const auto place = place_of(*python.torch, agent, cache);
  if (!place.ok()) return place.status();
  absl::Status status = test_agent(agent, python, say);
  if (!status.ok()) return status;
  const std::string path = (*place / agent_file_name(*python.torch)).string();
  status = put_into_place(agent, path);
  if (!status.ok()) return status;
  note_proof(path, python);
  return path;
}

// Returns "" when the program carries none that fits.
std::string unpacked(const PythonInstall& python, const fs::path& cache, const Say& say) {
  for (const PrebuiltAgent& agent : prebuilt_for(*python.torch)) {
    const Unproved folder(cache);
    const std::string path = folder.agent(*python.torch);
    const auto content = decompressed(agent.compressed);
    absl::Status status = content.ok() ? write_library(path, *content) : content.status();
    const auto done = status.ok() ? installed(python, path, cache, say) : absl::StatusOr<std::string>(status);
    if (done.ok()) return *done;
    say(absl::StrCat("the agent that castscope carries for PyTorch ", agent.torch_version,
                     " cannot be used: ", done.status().message()));
  }
  return "";
}

absl::StatusOr<std::string> built(const PythonInstall& python, const fs::path& cache, FolderLock& lock,
                                  const BuildLog& log, const Say& say) {
  const TorchInstall& torch = *python.torch;
  const Unproved folder(cache);
  absl::Status status = can_compile(torch);
  if (status.ok()) status = folder.status();
  const std::string sources = (cache / "src").string(), path = folder.agent(torch);
  if (status.ok()) status = extract_sources(sources);
  if (!status.ok()) return status;
  const auto begin = std::chrono::steady_clock::now();
  lock.note_build();
  say(absl::StrCat("building the agent for PyTorch ", torch.version, " (once, about a minute, into ", cache.string(),
                   ")"));
  status = compile_agent(sources, torch, path);
  if (!status.ok()) return log.keep(status);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  say(absl::StrFormat("the agent was built in %.0f s", took.count()));
  auto done = installed(python, path, cache, say);
  if (!done.ok()) return log.keep(done.status());
  return done;
}

}  // namespace

std::string agent_file_name(const TorchInstall& torch) { return absl::StrCat("castscope_agent-", torch.key, ".so"); }

absl::StatusOr<std::vector<SymbolVersion>> versions_beyond_torch(const std::string& agent, const TorchInstall& torch) {
  const auto needs = library_needs(agent), given = library_needs(torch.library),
             core = library_needs(torch.core_library);
  for (const auto* one : {&needs, &given, &core})
    if (!one->ok()) return one->status();
  return versions_beyond(*needs, {*given, *core});
}

std::string find_agent(const TorchInstall& torch, const std::string& glibc) {
  const fs::path agents = beside_program() / "agents";
  const std::string name = agent_file_name(torch);
  std::vector<std::string> places;
  if (built_from_these_sources(agents)) places.push_back((agents / name).string());
  for (const std::string& folder : cached_folders(glibc)) {
    const std::string path = absl::StrCat(folder, "/", name);
    if (is_own_file(path)) places.push_back(path);
  }
  return existing(places);
}

absl::StatusOr<std::string> obtain_agent(const PythonInstall& python, const std::string& glibc, const Say& say,
                                         bool try_again) {
  const TorchInstall& torch = *python.torch;
  std::string found = find_agent(torch, glibc);
  if (!found.empty()) {
    const absl::Status status = prove(found, python, say, try_again);
    if (!status.ok()) return status;
    return found;
  }
  const auto cache = cache_folder(Kept::kAgent);
  if (!cache.ok()) return cache.status();
  if (const std::string passed = folders_passed_over(Kept::kAgent); !passed.empty()) say(passed);
  FolderLock lock(*cache, &say);
  found = find_agent(torch, glibc);  // another process may have built it meanwhile
  if (!found.empty()) return found;
  found = unpacked(python, *cache, say);
  if (!found.empty()) return found;
  const BuildLog log(absl::StrCat(*cache, "/", agent_file_name(torch)), torch);
  if (const std::string before = try_again ? "" : log.failure(); !before.empty())
    return absl::UnavailableError(absl::StrCat(before, "; `castscope doctor --build` tries again"));
  return built(python, *cache, lock, log, say);
}

std::string agent_search_path(const std::string& glibc) {
  const char* given = getenv("CASTSCOPE_AGENTS");
  std::string path = given != nullptr ? given : "";
  auto add = [&](const std::string& folder) {
    const bool known = absl::StrContains(absl::StrCat(":", path, ":"), absl::StrCat(":", folder, ":"));
    if (!folder.empty() && !known) absl::StrAppend(&path, path.empty() ? "" : ":", folder);
  };
  fs::path agents = beside_program() / "agents";
  if (built_from_these_sources(agents)) add(agents.string());
  for (const std::string& folder : cached_folders(glibc)) add(folder);
  if (const auto cache = cache_folder(Kept::kAgent); cache.ok()) add(*cache);  // which may not have been made yet
  return path;
}

}  // namespace castscope::cli
