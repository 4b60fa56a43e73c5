// The runs that the viewer knows: those that it was given, those being recorded here, and those in a folder.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/web/runs/run_source.h"

namespace castscope::web {

using RunPtr = std::shared_ptr<RunSource>;

// Returns the name of a run file for URLs: letters, digits, dots, dashes and _.
std::string id_of_file(const std::string& file);
// Returns the run files in a folder, sorted by name.
std::vector<std::string> run_files_in(const std::string& folder);

// Files that nobody has requested for a while lose their memory: only the most recently requested ones keep it.
class Runs {
 public:
  static constexpr std::size_t kInMemory = 4;
  using Open = std::function<RunPtr(const std::string& id, const std::string& file)>;

  // `open` opens files that appear in the folder, or returns null for one that is not shown. The folder is looked at
  // this often at most: a second is as often as a person could notice.
  void watch_folder(std::string folder, Open open, std::chrono::milliseconds pause = std::chrono::seconds(1));
  // Makes an id from the file's name that no other run has.
  std::string free_id(const std::string& file) const;
  // The id of a file that a run is written to: what the file has, or one that no run has, in the folder neither.
  std::string id_for(const std::string& file);
  // Adds a run, in place of any run with the same id.
  void put(RunPtr run);
  RunPtr find(const std::string& id);
  std::vector<RunPtr> all();  // in the order in which they were added
  bool empty() const;

 private:
  void look_into_folder();
  bool folder_has_changed();
  RunPtr note_use(const std::string& id);
  std::string free_id_locked(const std::string& file) const;
  void add_locked(RunPtr run);

  mutable std::mutex mutex_;
  std::vector<RunPtr> runs_;
  absl::flat_hash_map<std::string, std::size_t> by_id_, by_file_;  // places in runs_
  std::list<std::string> used_;                                    // ids, the newest first
  std::string folder_;
  Open open_;
  std::chrono::milliseconds pause_{};
  std::chrono::steady_clock::time_point looked_{};
  std::filesystem::file_time_type folder_changed_ = std::filesystem::file_time_type::min();
};

}  // namespace castscope::web
