#include "server/cli/agents/proof.h"

#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/cli/agents/self_test.h"
#include "server/cli/toolkit/fresh_file.h"
#include "server/cli/toolkit/library_file.h"
#include "server/files/plain_file.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

// "castscope_agent-<build>.so.proved-3.11", beside the agent, or in the cache folder where that cannot be written.
std::vector<std::string> places(const std::string& agent, const PythonInstall& python) {
  std::vector<std::string> version = absl::StrSplit(python.version, '.');
  if (version.size() > 2) version.resize(2);
  const std::string ending = absl::StrCat(".proved-", absl::StrJoin(version, "."));
  std::vector<std::string> result = {agent + ending};
  if (const auto cache = cache_folder(Kept::kPackage); cache.ok())
    result.push_back(absl::StrCat(*cache, "/", fs::path(agent).filename().string(), ending));
  return result;
}

// A note has the agent's hash, and in a line of its own what differed.
void leave_note(const std::string& agent, const PythonInstall& python, const std::string& difference) {
  for (const std::string& place : places(agent, python)) {
    FreshFile file(place);
    if (!file.is_open()) continue;
    file.stream() << sealed_hash(agent) << "\n" << difference << "\n";
    if (file.keep()) return;
  }
}

// Returns what differed; "" = nothing, the agent has passed; no value where it was not tested.
std::optional<std::string> noted(const std::string& agent, const PythonInstall& python) {
  const std::string hash = sealed_hash(agent);
  for (const std::string& place : places(agent, python)) {
    std::istringstream file(files::text_or_nothing(place));
    std::string of, difference;
    if (std::getline(file, of) && of == hash && std::getline(file, difference)) return difference;
  }
  return std::nullopt;
}

}  // namespace

absl::Status test_agent(const std::string& agent, const PythonInstall& python, const Say& say) {
  say(absl::StrCat("testing the agent with PyTorch ", python.torch->version, " (once, some seconds)"));
  const auto difference = self_test(python.executable, fs::path(agent).parent_path().string());
  if (!difference.ok())
    return absl::AbortedError(absl::StrCat("its self-test cannot be made: ", difference.status().message()));
  if (!difference->empty()) return absl::FailedPreconditionError(absl::StrCat("it fails its self-test: ", *difference));
  return absl::OkStatus();
}

void note_proof(const std::string& agent, const PythonInstall& python) { leave_note(agent, python, ""); }

absl::Status prove(const std::string& agent, const PythonInstall& python, const Say& say, bool again) {
  const std::optional<std::string> before = noted(agent, python);
  if (before && before->empty()) return absl::OkStatus();
  if (before && !again)
    return absl::FailedPreconditionError(absl::StrCat(*before, "; `castscope doctor --build` tests it again"));
  const absl::Status status = test_agent(agent, python, say);
  if (status.ok() || absl::IsFailedPrecondition(status)) leave_note(agent, python, std::string(status.message()));
  return status;
}

}  // namespace castscope::cli
