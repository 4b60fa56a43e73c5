#include "server/cli/recording/collector_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/files/owner.h"
#include "server/store/file/stub.h"
#include "server/store/write/new_file.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 200;  // leaves room for a number and for what SQLite and reports append

std::string plain_name(const ingest::RunOpening& run) {
  std::string name;
  for (const unsigned char c : (run.name.empty() ? run.id : run.name).substr(0, kLongestName)) {
    const bool is_plain = absl::ascii_isalnum(c) || std::string_view("._-").find(c) != std::string_view::npos;
    name += is_plain ? static_cast<char>(c) : '_';
  }
  // castscope.json is the name of the rules' settings, which count for the runs of their folder.
  if (absl::EqualsIgnoreCase(name, "castscope")) return "run-" + name;
  return name.empty() || name[0] == '.' || name[0] == '-' ? "run" + name : name;
}

// A file that `castscope run` writes is none of a collector's, whatever id a relay gives.
bool holds(const Output& output, const std::string& run_id) {
  if (!why_not_taken(output.run_file()).empty()) return false;
  const auto heading = store::read_heading(output.run_file());
  return heading.ok() && heading->start.collected && heading->start.run_id == run_id;
}

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

// The report is the last thing that is written of a run.
bool was_left_open(const store::RunHeading& heading, const Output& output) {
  return !heading.end || !is_there(output.report_file());
}

}  // namespace

std::string why_not_taken(const std::string& run_file) {
  struct stat info {};
  if (lstat(run_file.c_str(), &info) != 0) return "";
  if (S_ISLNK(info.st_mode)) return absl::StrCat(run_file, ": this is a link, and is not followed");
  if (!S_ISREG(info.st_mode)) return absl::StrCat(run_file, ": this is not an ordinary file");
  const auto stranger = files::stranger_who_owns(run_file, nullptr);
  return stranger ? absl::StrCat(run_file, ": this file belongs to another user (", *stranger, "), and is not taken")
                  : "";
}

// Whoever is killed while he makes a file leaves it empty, or with SQLite's journal beside it.
std::vector<std::string> remove_stubs(const std::string& folder,
                                      const std::function<bool(const std::string& stem)>& is_free) {
  std::vector<std::string> removed;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string file = at->path().string();
    if (at->path().extension() != ".castscope" || !why_not_taken(file).empty()) continue;
    const Output output{(fs::path(folder) / at->path().stem()).string()};
    std::error_code gone;
    if (at->file_size(gone) != 0 && !is_there(file + "-journal")) continue;
    if (is_there(output.report_file()) || !is_free(output.stem) || !store::is_stub(file)) continue;
    store::remove_run_file(file);
    removed.push_back(file);
  }
  return removed;
}

CollectorFolder::CollectorFolder(std::string folder, store::ReadHeading read_heading)
    : folder_(std::move(folder)), read_heading_(std::move(read_heading)) {
  read();
}

void CollectorFolder::read() {
  by_id_.clear();
  stems_.clear();
  numbers_.clear();
  unreadable_.clear();
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const fs::directory_entry& entry = *at;
    if (entry.path().extension() != ".castscope") continue;
    const std::string file = entry.path().string();
    if (std::string why = why_not_taken(file); !why.empty()) {
      unreadable_.push_back(std::move(why));
      continue;
    }
    const Output output{(fs::path(folder_) / entry.path().stem()).string()};
    const auto heading = read_heading_(file);
    if (!heading.ok()) unreadable_.emplace_back(heading.status().message());
    if (heading.ok() && heading->start.run_id.empty())
      unreadable_.push_back(absl::StrCat(file,
                                         ": no run is in this file; what an older castscope had not yet moved into "
                                         "it may have gone with ",
                                         file, "-wal"));
    if (!heading.ok() || !heading->start.collected) continue;
    const store::RunStart& start = heading->start;
    stems_.insert(output.stem);
    by_id_[start.run_id].push_back({.stem = output.stem,
                                    .acknowledged = heading->acknowledged,
                                    .is_open = was_left_open(*heading, output),
                                    .run = {.id = start.run_id,
                                            .name = entry.path().stem().string(),
                                            .command = start.command,
                                            .cwd = start.cwd,
                                            .host = start.host,
                                            .begin_realtime_ns = start.start_ns,
                                            .castscope_version = start.castscope_version,
                                            .checkout = start.checkout,
                                            .owner = start.owner}});
  }
  for (auto& [id, files] : by_id_) std::ranges::sort(files, {}, &Known::stem);
}

// Several files may hold one run: somebody copied its file, or moved it while it was written. The collector goes on
// with the file in which the most messages are acknowledged, since the others lack what came later.
const CollectorFolder::Known* CollectorFolder::holder_of(const std::string& run_id, const std::string& wish) const {
  const auto found = by_id_.find(run_id);
  if (found == by_id_.end()) return nullptr;
  const auto rank = [&](const Known& one) { return std::make_tuple(one.acknowledged, !one.is_open, one.stem == wish); };
  const auto best = std::ranges::max_element(found->second, {}, rank);
  return best == found->second.end() ? nullptr : &*best;
}

std::vector<ingest::RunOpening> CollectorFolder::left_open() const {
  std::vector<ingest::RunOpening> runs;
  for (const auto& [id, known] : by_id_)
    if (const Known* holder = holder_of(id, ""); holder != nullptr && holder->is_open) runs.push_back(holder->run);
  return runs;
}

Output CollectorFolder::place(const ingest::RunOpening& run) {
  const std::string wish = (fs::path(folder_) / plain_name(run)).string();
  const Known* holder = holder_of(run.id, wish);
  if (holder != nullptr && !holds({holder->stem}, run.id)) {
    read();
    holder = holder_of(run.id, wish);
    if (holder != nullptr && !holds({holder->stem}, run.id)) holder = nullptr;  // it was damaged, and shows it nowhere
  }
  const Output place{holder != nullptr ? holder->stem : free_place(run, wish).stem};
  note_place(run.id, place.stem);
  return place;
}

// From now on the run is in this file, and its copies stay behind.
void CollectorFolder::note_place(const std::string& run_id, const std::string& stem) {
  Known known;
  known.stem = stem;
  by_id_[run_id] = {known};
  stems_.insert(stem);
}

void CollectorFolder::forget(const std::string& run_id, const std::string& stem) {
  stems_.erase(stem);
  const auto found = by_id_.find(run_id);
  if (found == by_id_.end()) return;
  std::erase_if(found->second, [&stem](const Known& one) { return one.stem == stem; });
  if (found->second.empty()) by_id_.erase(found);
}

// A report without its run file is somebody's, too. A file that is known to be another run's is not read.
Output CollectorFolder::free_place(const ingest::RunOpening& run, const std::string& wish) {
  const auto known = numbers_.find(wish);
  const int first = known != numbers_.end() ? known->second : 1;
  int n = first;
  Output output;
  for (;; ++n) {
    output.stem = n == 1 ? wish : absl::StrCat(wish, "-", n);
    if (!is_there(output.run_file()) && !is_there(output.report_file())) break;
    if (!stems_.contains(output.stem) && holds(output, run.id)) break;  // it was put there meanwhile
  }
  if (n != first) numbers_[wish] = n;
  return output;
}

}  // namespace castscope::cli
