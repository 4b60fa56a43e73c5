#include "server/web/runs/runs.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace castscope::web {

namespace fs = std::filesystem;

std::string id_of_file(const std::string& file) {
  std::string id = fs::path(file).stem().string();
  for (char& c : id) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  if (id.empty() || id.front() == '.') id.insert(0, "run");  // "." and ".." have a meaning in URLs
  return id;
}

std::vector<std::string> run_files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".castscope") files.push_back(it->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void Runs::watch_folder(std::string folder, Open open, std::chrono::milliseconds pause) {
  const std::lock_guard lock(mutex_);
  folder_ = std::move(folder);
  open_ = std::move(open);
  pause_ = pause;
}

std::string Runs::free_id_locked(const std::string& file) const {
  const std::string wish = id_of_file(file);
  std::string id = wish;
  for (int n = 2; by_id_.contains(id); ++n) id = absl::StrCat(wish, "-", n);
  return id;
}

std::string Runs::free_id(const std::string& file) const {
  const std::lock_guard lock(mutex_);
  return free_id_locked(file);
}

std::string Runs::id_for(const std::string& file) {
  const std::lock_guard lock(mutex_);
  looked_ = {};
  look_into_folder();
  const auto known = by_file_.find(file);
  return known == by_file_.end() ? free_id_locked(file) : runs_[known->second]->id();
}

void Runs::put(RunPtr run) {
  const std::lock_guard lock(mutex_);
  add_locked(std::move(run));
}

void Runs::add_locked(RunPtr run) {
  std::size_t place = runs_.size();
  if (const auto same = by_id_.find(run->id()); same != by_id_.end()) place = same->second;
  if (const auto same = by_file_.find(run->file()); same != by_file_.end()) place = std::min(place, same->second);
  if (place == runs_.size()) {
    runs_.push_back(nullptr);
  } else {
    by_id_.erase(runs_[place]->id());
    by_file_.erase(runs_[place]->file());
  }
  by_id_[run->id()] = by_file_[run->file()] = place;
  runs_[place] = std::move(run);
}

// A change that comes within one tick of the file system's clock does not show in its time: a folder that changed a
// moment ago counts as changed.
bool Runs::folder_has_changed() {
  std::error_code error;
  const auto changed = fs::last_write_time(folder_, error);
  if (!error && changed == folder_changed_) return false;
  const bool has_settled = !error && fs::file_time_type::clock::now() - changed > std::chrono::seconds(2);
  folder_changed_ = has_settled ? changed : fs::file_time_type::min();
  return true;
}

// Called with the lock held.
void Runs::look_into_folder() {
  const auto now = std::chrono::steady_clock::now();
  if (folder_.empty() || now - looked_ < pause_) return;
  looked_ = now;
  if (!folder_has_changed()) return;
  for (const std::string& file : run_files_in(folder_)) {
    const auto known = by_file_.find(file);
    if (known != by_file_.end() && !runs_[known->second]->is_gone()) continue;
    // A file that came back, or that another one took the place of, keeps its run's address.
    const std::string id = known == by_file_.end() ? free_id_locked(file) : runs_[known->second]->id();
    if (RunPtr run = open_(id, file)) add_locked(std::move(run));
  }
}

// Called with the lock held. Returns the run that loses its memory, so that the caller destroys it without the lock.
RunPtr Runs::note_use(const std::string& id) {
  used_.remove(id);
  used_.push_front(id);
  if (used_.size() <= kInMemory) return nullptr;
  const auto oldest = by_id_.find(used_.back());
  used_.pop_back();
  if (oldest == by_id_.end()) return nullptr;
  RunPtr& run = runs_[oldest->second];
  RunPtr fresh = run->unloaded();
  return fresh == nullptr ? nullptr : std::exchange(run, std::move(fresh));
}

RunPtr Runs::find(const std::string& id) {
  RunPtr given_up;
  const std::lock_guard lock(mutex_);
  auto found = by_id_.find(id);
  if (found == by_id_.end()) {
    look_into_folder();
    found = by_id_.find(id);
  }
  if (found == by_id_.end()) return nullptr;
  RunPtr run = runs_[found->second];
  given_up = note_use(id);
  return run;
}

std::vector<RunPtr> Runs::all() {
  const std::lock_guard lock(mutex_);
  look_into_folder();
  return runs_;
}

bool Runs::empty() const {
  const std::lock_guard lock(mutex_);
  return runs_.empty();
}

}  // namespace castscope::web
