#include "server/cli/loading/trial.h"

#include <chrono>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/cli/toolkit/child.h"

namespace castscope::cli {
namespace {

// It takes 0.7 ms. A loader that hangs, as one under a debugger, must not hold up the job.
constexpr std::chrono::seconds kPatience{10};

// The loader's complaint: its lines that name our library, or else all of them.
std::string complaint(const ChildResult& result, const std::string& library) {
  std::string all, ours;
  for (absl::string_view line : absl::StrSplit(result.err, '\n', absl::SkipWhitespace())) {
    absl::StrAppend(&all, all.empty() ? "" : "; ", absl::StripAsciiWhitespace(line));
    if (absl::StrContains(line, library))
      absl::StrAppend(&ours, ours.empty() ? "" : "; ", absl::StripAsciiWhitespace(line));
  }
  if (!ours.empty() || !all.empty()) return ours.empty() ? all : ours;
  return absl::StrCat("a process that tries it ends with ", result.status);
}

}  // namespace

Trial try_preload(const Preload& preload, const JobLoader& loader) {
  if (!loader.problem.empty()) return {loader.problem, ""};
  if (loader.path.empty()) return {"this system has no dynamic loader", ""};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto done = run_child({loader.path, preload.trivial},
                              {.environment = {"LD_PRELOAD=" + preload.library},
                               .is_too_late = [&] { return std::chrono::steady_clock::now() > deadline; }});
  if (!done.ok()) return {std::string(done.status().message()), ""};
  const std::vector<std::string> words = absl::StrSplit(absl::StripAsciiWhitespace(done->out), ' ');
  if (done->status == 0 && words.size() == 2 && words[1] == "yes") return {"", words[0] == "0" ? "" : words[0]};
  return {complaint(*done, preload.library), words.size() == 2 ? words[0] : ""};
}

}  // namespace castscope::cli
