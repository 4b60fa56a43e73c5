#include "server/cli/job/git_state.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "server/files/plain_file.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLine = 4096;  // of what is wanted; a longer one is something else

std::string first_line(const fs::path& file) {
  std::istringstream stream(files::text_or_nothing(file.string()));
  std::string line;
  std::getline(stream, line);
  return line.size() > kLongestLine ? "" : std::string(absl::StripAsciiWhitespace(line));
}

// Git's own folder of this checkout; "" = none.
fs::path git_folder(const fs::path& checkout) {
  std::error_code error;
  const fs::path git = checkout / ".git";
  if (fs::is_directory(git, error)) return git;
  const std::string line = first_line(git);
  absl::string_view folder = line;
  if (!absl::ConsumePrefix(&folder, "gitdir: ")) return {};
  return checkout / fs::path(std::string(folder));  // an absolute path stays as it is
}

// Worktrees share most of it with the checkout that they were made from.
fs::path shared_folder(const fs::path& git) {
  const std::string line = first_line(git / "commondir");
  return line.empty() ? git : git / line;
}

std::string commit_or_nothing(const std::string& text) {
  constexpr std::size_t kSha1 = 40, kSha256 = 64;
  const bool fits = text.size() == kSha1 || text.size() == kSha256;
  return fits && std::all_of(text.begin(), text.end(), absl::ascii_isxdigit) ? text : "";
}

std::string packed_commit(const fs::path& shared, const std::string& ref) {
  std::istringstream stream(files::text_or_nothing((shared / "packed-refs").string()));
  for (std::string line; std::getline(stream, line);) {
    const std::size_t space = line.find(' ');
    if (space != std::string::npos && std::string_view(line).substr(space + 1) == ref)
      return commit_or_nothing(line.substr(0, space));
  }
  return "";
}

// `url` of the remote that clones come from, in the file `config`.
std::string origin_url(const fs::path& shared) {
  std::istringstream stream(files::text_or_nothing((shared / "config").string()));
  bool is_origin = false;
  for (std::string line; std::getline(stream, line);) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(text, "[")) is_origin = text == "[remote \"origin\"]";
    const std::size_t equals = text.find('=');
    if (!is_origin || equals == absl::string_view::npos) continue;
    if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(text.substr(0, equals)), "url")) continue;
    absl::string_view url = absl::StripAsciiWhitespace(text.substr(equals + 1));
    if (url.size() > 1 && url.front() == '"' && url.back() == '"') url = url.substr(1, url.size() - 2);
    return url.size() > kLongestLine ? "" : std::string(url);
  }
  return "";
}

}  // namespace

std::string without_credentials(const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const std::size_t begin = scheme + 3, end = std::min(url.find('/', begin), url.size());
  const std::size_t at = url.rfind('@', end);
  if (at == std::string::npos || at < begin) return url;
  const bool is_ssh = url.substr(0, scheme).find("ssh") != std::string::npos;
  const std::string user = is_ssh ? url.substr(begin, std::min(url.find(':', begin), at) - begin) + "@" : "";
  return url.substr(0, begin) + user + url.substr(at + 1);
}

GitFacts git_facts(const std::string& folder) {
  GitFacts facts;
  const fs::path git = folder.empty() ? fs::path() : git_folder(folder);
  if (git.empty()) return facts;
  const fs::path shared = shared_folder(git);
  facts.origin = without_credentials(origin_url(shared));
  const std::string head = first_line(git / "HEAD");
  absl::string_view ref = head;
  if (!absl::ConsumePrefix(&ref, "ref: ")) {
    facts.commit = commit_or_nothing(head);
    return facts;
  }
  const std::string name(ref);
  // A name may lead anywhere. With the reftable format HEAD names a branch that does not exist.
  if (!absl::StartsWith(name, "refs/") || absl::StrContains(name, "..") || absl::EndsWith(name, ".invalid"))
    return facts;
  facts.branch = std::string(absl::StripPrefix(name, "refs/heads/"));
  for (const fs::path& of : {git, shared})
    if (facts.commit.empty()) facts.commit = commit_or_nothing(first_line(of / name));
  if (facts.commit.empty()) facts.commit = packed_commit(shared, name);
  return facts;
}

}  // namespace castscope::cli
