#include "server/cli/recording/collector_folder.h"

#include <filesystem>
#include <set>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/store/read/run_heading.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

std::string plain_name(const ingest::RunOpening& run) {
  std::string name;
  for (const unsigned char c : run.name.empty() ? run.id : run.name) {
    const bool is_plain = absl::ascii_isalnum(c) || std::string_view("._-").find(c) != std::string_view::npos;
    name += is_plain ? static_cast<char>(c) : '_';
  }
  return name.empty() || name[0] == '.' ? "run" + name : name;
}

bool holds(const Output& output, const std::string& run_id) {
  const auto heading = store::read_heading(output.run_file());
  return heading.ok() && heading->start.run_id == run_id;
}

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

// The report is the last thing that is written of a run.
bool was_left_open(const store::RunHeading& heading, const Output& output) {
  return heading.start.collected && (!heading.end || !is_there(output.report_file()));
}

}  // namespace

CollectorFolder::CollectorFolder(std::string folder) : folder_(std::move(folder)) { read(); }

void CollectorFolder::read() {
  by_id_.clear();
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    if (entry.path().extension() != ".castscope" || !entry.is_regular_file(error)) continue;
    const auto heading = store::read_heading(entry.path().string());
    if (!heading.ok() || heading->start.run_id.empty()) continue;
    const store::RunStart& start = heading->start;
    const Output output{(fs::path(folder_) / entry.path().stem()).string()};
    by_id_.emplace(start.run_id, Known{.stem = output.stem,
                                       .is_open = was_left_open(*heading, output),
                                       .run = {.id = start.run_id,
                                               .name = entry.path().stem().string(),
                                               .command = start.command,
                                               .cwd = start.cwd,
                                               .host = start.host,
                                               .begin_realtime_ns = start.start_ns,
                                               .castscope_version = start.castscope_version,
                                               .checkout = start.checkout}});
  }
}

std::vector<ingest::RunOpening> CollectorFolder::left_open() const {
  std::vector<ingest::RunOpening> runs;
  std::set<std::string> ids;
  for (const auto& [id, known] : by_id_)
    if (known.is_open && ids.insert(id).second) runs.push_back(known.run);
  return runs;
}

Output CollectorFolder::place(const ingest::RunOpening& run) {
  const std::string wish = (fs::path(folder_) / plain_name(run)).string();
  if (by_id_.contains(run.id)) {
    const auto known = [&]() -> std::string {
      std::string any;
      const auto [begin, end] = by_id_.equal_range(run.id);
      for (auto one = begin; one != end; ++one)
        if (holds({one->second.stem}, run.id) && (any.empty() || one->second.stem == wish)) any = one->second.stem;
      return any;
    };
    if (const std::string stem = known(); !stem.empty()) return {stem};
    read();  // its file was renamed
    if (const std::string stem = known(); !stem.empty()) return {stem};
  }
  const Output output = free_place(run);
  by_id_.emplace(run.id, Known{.stem = output.stem, .run = run});
  return output;
}

// A report without its run file is somebody's, too.
Output CollectorFolder::free_place(const ingest::RunOpening& run) {
  const std::string wish = (fs::path(folder_) / plain_name(run)).string();
  Output output{wish};
  for (int n = 2; is_there(output.run_file()) || is_there(output.report_file()); n++) {
    if (holds(output, run.id)) break;  // it was put there meanwhile
    output.stem = absl::StrCat(wish, "-", n);
  }
  return output;
}

}  // namespace castscope::cli
