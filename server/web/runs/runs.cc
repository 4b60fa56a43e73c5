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

void Runs::watch_folder(std::string folder, Open open) {
  const std::lock_guard lock(mutex_);
  folder_ = std::move(folder);
  open_ = std::move(open);
}

std::string Runs::free_id_locked(const std::string& file) const {
  const std::string wish = id_of_file(file);
  const auto taken = [this](const std::string& id) {
    return std::any_of(runs_.begin(), runs_.end(), [&](const RunPtr& run) { return run->id() == id; });
  };
  std::string id = wish;
  for (int n = 2; taken(id); ++n) id = absl::StrCat(wish, "-", n);
  return id;
}

std::string Runs::free_id(const std::string& file) const {
  const std::lock_guard lock(mutex_);
  return free_id_locked(file);
}

void Runs::put(RunPtr run) {
  const std::lock_guard lock(mutex_);
  const auto same = std::find_if(runs_.begin(), runs_.end(), [&](const RunPtr& one) {
    return one->id() == run->id() || one->file() == run->file();
  });
  if (same != runs_.end()) {
    *same = std::move(run);
  } else {
    runs_.push_back(std::move(run));
  }
}

// Called with the lock held. The folder is read at most once a second, which is as often as a person could notice.
void Runs::look_into_folder() {
  const auto now = std::chrono::steady_clock::now();
  if (folder_.empty() || now - looked_ < std::chrono::seconds(1)) return;
  looked_ = now;
  for (const std::string& file : run_files_in(folder_)) {
    const bool known = std::any_of(runs_.begin(), runs_.end(), [&](const RunPtr& run) { return run->file() == file; });
    if (!known) runs_.push_back(open_(free_id_locked(file), file));
  }
}

// Called with the lock held. Returns the run that loses its memory, so that the caller destroys it without the lock.
RunPtr Runs::note_use(const std::string& id) {
  used_.remove(id);
  used_.push_front(id);
  if (used_.size() <= kInMemory) return nullptr;
  const auto oldest =
      std::find_if(runs_.begin(), runs_.end(), [this](const RunPtr& run) { return run->id() == used_.back(); });
  used_.pop_back();
  if (oldest == runs_.end()) return nullptr;
  RunPtr fresh = (*oldest)->unloaded();
  return fresh == nullptr ? nullptr : std::exchange(*oldest, std::move(fresh));
}

RunPtr Runs::find(const std::string& id) {
  RunPtr given_up;
  const std::lock_guard lock(mutex_);
  const auto is_it = [&](const RunPtr& run) { return run->id() == id; };
  auto found = std::find_if(runs_.begin(), runs_.end(), is_it);
  if (found == runs_.end()) {
    look_into_folder();
    found = std::find_if(runs_.begin(), runs_.end(), is_it);
  }
  if (found == runs_.end()) return nullptr;
  RunPtr run = *found;
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
