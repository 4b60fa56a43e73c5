// The runs that the viewer knows: those that were given, those being recorded here, and those in a folder.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/web/runs/run_source.h"

namespace castscope::web {

using RunPtr = std::shared_ptr<RunSource>;

// The name of a run file as it stands in URLs: letters, digits, dots, dashes and _.
std::string id_of_file(const std::string& file);
// The run files in a folder, by name.
std::vector<std::string> run_files_in(const std::string& folder);

// Files that nobody has asked for in a while give up their memory: only those asked for last keep it.
class Runs {
 public:
  static constexpr std::size_t kInMemory = 4;
  using Open = std::function<RunPtr(const std::string& id, const std::string& file)>;

  // Files that appear in the folder are opened by `open`.
  void watch_folder(std::string folder, Open open);
  // An id that is not taken, from that file's name.
  std::string free_id(const std::string& file) const;
  // Instead of one of the same id.
  void put(RunPtr run);
  RunPtr find(const std::string& id);
  std::vector<RunPtr> all();  // in the order in which they came
  bool empty() const;

 private:
  void look_into_folder();
  RunPtr note_use(const std::string& id);
  std::string free_id_locked(const std::string& file) const;

  mutable std::mutex mutex_;
  std::vector<RunPtr> runs_;
  std::list<std::string> used_;  // ids, the newest first
  std::string folder_;
  Open open_;
  std::chrono::steady_clock::time_point looked_{};
};

}  // namespace castscope::web
