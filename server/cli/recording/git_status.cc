#include "server/cli/recording/git_status.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/cli/toolkit/child.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr int kDeepest = 8;                // of submodules within submodules
constexpr std::size_t kMostPaths = 200;    // that are asked about: a command line is no place for more
constexpr std::size_t kMostFilters = 100;  // a configuration has two or three

// The entries of Git's answers with -z.
Words entries_of(const std::string& text) { return absl::StrSplit(text, '\0', absl::SkipEmpty()); }

class Checkout {
 public:
  Checkout(std::string folder, const std::function<bool()>& is_too_late)
      : folder_(std::move(folder)), is_too_late_(is_too_late) {}

  std::optional<bool> differs(int depth) {
    if (!find_filters()) return std::nullopt;
    // Git would ask submodules with what they configure themselves: they are asked one by one below.
    const auto told =
        git({"status", "--porcelain", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=dirty"});
    if (!told) return std::nullopt;
    const std::optional<bool> own = judge(entries_of(*told));
    return own == true ? own : worse(own, submodules_differ(depth));
  }

 private:
  // Files that Git does not know do not count: the run file may lie among them. The options keep Git from writing into
  // the checkout, from starting a program that the checkout names, and from fetching what a partial clone lacks.
  std::optional<std::string> git(const Words& question, int other_status = 0) const {
    Words command{"git", "--no-optional-locks", "-C", folder_, "-c", "core.fsmonitor=false"};
    for (const std::string& name : filters_)
      for (const char* const without : {".clean=", ".smudge=", ".process=", ".required=false"})
        command.insert(command.end(), {"-c", absl::StrCat("filter.", name, without)});
    command.insert(command.end(), question.begin(), question.end());
    const auto told = run_child(
        command, {.environment = {"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1"}, .is_too_late = is_too_late_});
    if (!told.ok() || (told->status != 0 && told->status != other_status)) return std::nullopt;
    return told->out;
  }

  // Filters are programs through which Git sends a file before it compares it. They are named in the configuration,
  // which may be the checkout's. False where one cannot be switched off.
  bool find_filters() {
    constexpr int kNone = 1;
    const auto told = git({"config", "-z", "--name-only", "--get-regexp", R"(^filter\..*\.(clean|process)$)"}, kNone);
    if (!told) return false;
    std::set<std::string> names;
    for (const std::string& key : entries_of(*told)) {
      const std::string name = key.substr(std::string_view("filter.").size());
      names.insert(name.substr(0, name.rfind('.')));
    }
    filters_.assign(names.begin(), names.end());
    // The name of a variable ends at the first "=" of `-c`.
    return filters_.size() <= kMostFilters &&
           std::ranges::none_of(filters_, [](const std::string& name) { return absl::StrContains(name, "="); });
  }

  // Each entry is "XY path": how the index differs from the commit, and the file from the index.
  std::optional<bool> judge(const Words& entries) const {
    Words unsure;
    for (const std::string& entry : entries) {
      const bool only_content = absl::StartsWith(entry, " M ");
      if (!only_content || filters_.empty()) return true;
      unsure.push_back(entry.substr(3));
    }
    if (unsure.empty()) return false;
    if (unsure.size() > kMostPaths) unsure.resize(kMostPaths);
    return any_without_filter(std::move(unsure)) ? std::optional<bool>(true) : std::nullopt;
  }

  // Without its filter, a file that was only touched looks as if it differed.
  bool any_without_filter(Words paths) const {
    Words question{"check-attr", "-z", "filter", "--"};
    question.insert(question.end(), paths.begin(), paths.end());
    const auto told = git(question);
    if (!told) return false;
    const Words answers = entries_of(*told);  // path, "filter", value
    for (std::size_t i = 2; i < answers.size(); i += 3)
      if (std::ranges::find(filters_, answers[i]) == filters_.end()) return true;
    return false;
  }

  std::optional<bool> submodules_differ(int depth) const {
    std::error_code error;
    if (!fs::exists(fs::symlink_status(fs::path(folder_) / ".gitmodules", error))) return false;
    const auto told = git({"ls-files", "--stage", "-z"});
    if (!told || depth >= kDeepest) return std::nullopt;
    std::optional<bool> all = false;
    for (const std::string& entry : entries_of(*told)) {
      if (!absl::StartsWith(entry, "160000 ")) continue;
      const fs::path submodule = fs::path(folder_) / entry.substr(entry.find('\t') + 1);
      if (!fs::exists(fs::symlink_status(submodule / ".git", error))) continue;  // it was not checked out
      all = worse(all, Checkout(submodule.string(), is_too_late_).differs(depth + 1));
      if (all == true) break;
    }
    return all;
  }

  static std::optional<bool> worse(std::optional<bool> one, std::optional<bool> other) {
    if (one == true || other == true) return true;
    return one && other ? std::optional<bool>(false) : std::nullopt;
  }

  const std::string folder_;
  const std::function<bool()>& is_too_late_;
  Words filters_;
};

}  // namespace

std::optional<bool> differs_from_commit(const std::string& checkout, const std::function<bool()>& is_too_late) {
  return Checkout(checkout, is_too_late).differs(0);
}

}  // namespace castscope::cli
