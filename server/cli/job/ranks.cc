#include "server/cli/job/ranks.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/interposed/launchers.h"
#include "server/files/plain_file.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kMostLocalRanks = 65536;  // of a LOCAL_WORLD_SIZE that makes sense

const char* of_environment(const char* name) { return getenv(name); }

std::map<std::string, std::string> variables_in(const fs::path& path) {
  std::map<std::string, std::string> variables;
  std::istringstream file(files::text_or_nothing(path.string()));
  for (std::string line; std::getline(file, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) variables[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return variables;
}

// A launcher may start several groups of ranks on one machine, and numbers each from 0.
std::string rank_of(std::map<std::string, std::string>& variables) {
  if (!variables["LOCAL_RANK"].empty()) return absl::StrCat(variables["GROUP_RANK"], "/", variables["LOCAL_RANK"]);
  return variables["RANK"];
}

}  // namespace

Ranks ranks_in(const std::string& run_directory) {
  std::set<std::string> told, seen;
  std::map<std::string, std::uint32_t> sizes;  // of each group
  std::error_code error;
  for (fs::directory_iterator at(run_directory, error), end; !error && at != end; at.increment(error)) {
    const bool attached = at->path().extension() == ".attached";
    if (!attached && at->path().extension() != ".unobserved") continue;
    auto variables = variables_in(at->path());
    const std::string rank = rank_of(variables);
    if (rank.empty()) continue;
    told.insert(rank);
    if (attached) seen.insert(rank);
    std::uint32_t size = 0;
    if (absl::SimpleAtoi(variables["LOCAL_WORLD_SIZE"], &size) && size <= kMostLocalRanks)
      sizes[variables["GROUP_RANK"]] = std::max(sizes[variables["GROUP_RANK"]], size);
  }
  Ranks ranks{.expected = 0, .seen = static_cast<std::uint32_t>(seen.size())};
  for (const auto& [group, size] : sizes) ranks.expected += size;
  ranks.expected = std::max(ranks.expected, static_cast<std::uint32_t>(told.size()));
  return ranks;
}

std::string one_rank_variable() {
  const char* const size = castscope_told(of_environment, CASTSCOPE_LOCAL_WORLD_SIZE);
  return size == nullptr || *size == '\0' ? "" : "CASTSCOPE_ONE_RANK=1";
}

std::string rank_in_names() {
  std::uint32_t rank = 0, size = 0;
  const auto told = [](int what, std::uint32_t& number) {
    const char* const text = castscope_told(of_environment, what);
    return text != nullptr && absl::SimpleAtoi(text, &number);
  };
  if (!told(CASTSCOPE_RANK, rank) || !told(CASTSCOPE_WORLD_SIZE, size) || size < 2) return "";
  return absl::StrCat("rank", rank);
}

}  // namespace castscope::cli
