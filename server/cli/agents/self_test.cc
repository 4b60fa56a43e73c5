#include "server/cli/agents/self_test.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/cli/toolkit/child.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kScriptName[] = "castscope_self_test.py";

// A weight is cast once for each region, and then served by the cache; other tensors are cast each time.
constexpr char kScript[] = R"(import torch
data = torch.ones(4, 4)
weight = torch.ones(4, 4, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    for _ in range(3):
        torch.mm(data, weight)
    data.to(torch.float64)
    torch.nn.functional.linear(data, weight)
with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
    torch.mm(weight, weight)
)";

struct Expected {
  std::int64_t line;
  const char* to;
  std::int64_t casts, hits;
};
constexpr std::array<Expected, 4> kExpected = {{
    {6, "bfloat16", 3 + 1, 2},  // of the data in each pass; of the weight in the first
    {7, "float64", 1, 0},
    {8, "bfloat16", 1, 1},
    {10, "bfloat16", 2, 0},
}};

struct Counts {
  std::int64_t casts = 0, hits = 0;
};
using Lines = std::map<std::pair<std::int64_t, std::string>, Counts>;

// The line of the script at which a site is; 0 where the agent reads no lines of this Python.
std::int64_t line_of(const json& report, const json& site) {
  const json& stacks = report["stacks"];
  const json& frames = report["frames"];
  const auto index = site.value("stack_index", std::size_t{0});
  if (!site.contains("stack_index") || index >= stacks.size()) return 0;
  for (const json& number : stacks[index].value("frame_indexes", json::array())) {
    const json frame =
        number.is_number_unsigned() && number < frames.size() ? frames[number.get<std::size_t>()] : json();
    if (frame.is_object() && fs::path(frame.value("file", "")).filename() == kScriptName)
      return frame.value("line", std::int64_t{0});
  }
  return 0;
}

Lines seen_in(const json& report) {
  Lines lines;
  for (const json& site : report["sites"]) {
    Counts& counts = lines[{line_of(report, site), site.value("to_dtype", "")}];
    counts.casts += site.value("casts", std::int64_t{0});
    counts.hits += site.value("cache_hits", std::int64_t{0});
  }
  return lines;
}

std::string words(const Counts& counts) {
  return absl::StrCat(counts.casts, " casts and ", counts.hits, " cache hits");
}

// Without lines only the sums can be compared.
std::string difference_without_lines(const Lines& seen) {
  std::map<std::string, Counts> expected, sums;
  for (const Expected& one : kExpected) expected[one.to].casts += one.casts, expected[one.to].hits += one.hits;
  for (const auto& [place, counts] : seen)
    sums[place.second].casts += counts.casts, sums[place.second].hits += counts.hits;
  for (const auto& [to, wanted] : expected) {
    if (sums[to].casts != wanted.casts || sums[to].hits != wanted.hits)
      return absl::StrCat(words(wanted), " to ", to, " were made, and ", words(sums[to]), " were seen");
  }
  return "";
}

std::string difference_by_line(Lines seen) {
  for (const Expected& one : kExpected) {
    const Counts& counts = seen[{one.line, one.to}];
    if (counts.casts != one.casts || counts.hits != one.hits)
      return absl::StrCat("line ", one.line, " of the self-test made ", words({one.casts, one.hits}), " to ", one.to,
                          ", and ", words(counts), " were seen");
    seen.erase({one.line, one.to});
  }
  for (const auto& [place, counts] : seen) {
    if (counts.casts != 0 || counts.hits != 0)
      return absl::StrCat("line ", place.first, " of the self-test made no casts to ", place.second, ", and ",
                          words(counts), " were seen");
  }
  return "";
}

// Returns the first notice of the report, which says why nothing was seen.
std::string reason_in(const json& report) {
  const json notices = report.contains("run") ? report["run"].value("notices", json::array()) : json::array();
  return notices.empty() || !notices[0].is_string() ? "" : absl::StrCat(": ", notices[0].get<std::string>());
}

std::string last_line(const std::string& text) {
  std::string last;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace()))
    last = std::string(absl::StripAsciiWhitespace(line));
  return last;
}

absl::StatusOr<fs::path> temporary_folder() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "castscope-self-test-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr)
    return absl::UnavailableError("there is no folder for temporary files: set TMPDIR to one");
  return name;
}

// castscope runs the self-test without the options that the user has set for the job in these variables.
const std::vector<std::string> kNothingSpecial = {
    "CASTSCOPE_DEEP=",        "CASTSCOPE_GPU=",       "CASTSCOPE_OUT=",  "CASTSCOPE_ENFORCE=",
    "CASTSCOPE_ALL_KERNELS=", "CASTSCOPE_COLLECTOR=", "CASTSCOPE_APEX=", "CASTSCOPE_LOG="};

}  // namespace

std::string self_test_script() { return kScript; }

std::string difference_in(const std::string& text) {
  const json report = json::parse(text, nullptr, false);
  if (!report.is_object() || !report.contains("sites") || !report.contains("stacks") || !report.contains("frames"))
    return "there is no report of it";
  const Lines seen = seen_in(report);
  if (seen.empty()) return absl::StrCat("nothing was seen", reason_in(report));
  const bool has_lines = std::ranges::any_of(seen, [](const auto& one) { return one.first.first != 0; });
  return has_lines ? difference_by_line(seen) : difference_without_lines(seen);
}

absl::StatusOr<std::string> self_test(const std::string& python, const std::string& agent_folder) {
  const auto folder = temporary_folder();
  if (!folder.ok()) return folder.status();
  std::error_code error;
  const auto remove = absl::MakeCleanup([&] { fs::remove_all(*folder, error); });
  std::ofstream(*folder / kScriptName) << kScript;
  std::vector<std::string> environment = kNothingSpecial;
  environment.push_back("CASTSCOPE_AGENTS=" + agent_folder);
  const auto done = run_child({program_path(), "run", "--given-agents", "--deep", "never", "--gpu", "off", "-o",
                               "self-test", "--", python, kScriptName},
                              {.folder = folder->string(), .environment = environment});
  if (!done.ok()) return done.status();
  if (done->status != 0) {
    const std::string why = last_line(done->err);
    return absl::UnavailableError(absl::StrCat("its job ends with ", done->status, why.empty() ? "" : ": ", why));
  }
  std::ifstream report(*folder / "self-test.json", std::ios::binary);
  std::ostringstream text;
  text << report.rdbuf();
  return difference_in(text.str());
}

}  // namespace castscope::cli
