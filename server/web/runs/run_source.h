// A run as the viewer shows it, from either source: a finished file (file_run.h), or a recording in this process
// (live_run.h). All functions may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/store/read/run_heading.h"
#include "server/timeline/timeline.h"
#include "server/web/runs/finding_places.h"
#include "server/web/runs/snapshot.h"

namespace castscope::web {

enum class RunState {
  kLoading,   // its file is being read
  kLive,      // it is being recorded
  kFinished,  // its end was seen
  kLost,      // its end was not recorded: its recorder is gone, or elsewhere
  kGone,      // its file was moved or deleted; what is in memory is still shown
};
std::string_view name(RunState);  // "loading", "live", …

// The entry of a run in the list of runs, which is made without reading all of the run.
struct RunSummary {
  store::RunStart start;
  std::optional<store::RunEnd> end;
  std::uint64_t events = 0;
  bool farewell = false;  // every relay has said that it is done
};

class RunSource {
 public:
  RunSource(std::string id, std::string file);
  RunSource(const RunSource&) = delete;
  RunSource& operator=(const RunSource&) = delete;
  virtual ~RunSource() = default;

  const std::string& id() const { return id_; }      // its name in URLs
  const std::string& file() const { return file_; }  // the run file
  // No other run has it, nor the same one opened again: its numbers of judgements and revisions begin anew then.
  const std::string& opening() const { return opening_; }
  virtual RunState state() const = 0;
  // Whether its file was moved or deleted, or another one is in its place. Not of a run that is being recorded: what
  // records it goes on with the file that it has.
  virtual bool is_gone() const = 0;
  virtual absl::StatusOr<RunSummary> summary() const = 0;
  // What the file counts, read without the rest of it.
  virtual absl::StatusOr<store::RunCounts> counts() const { return store::read_counts(file_); }
  // Returns the newest snapshot. The first call may take as long as reading the file; an error is a sentence about the
  // file.
  virtual absl::StatusOr<SnapshotPtr> snapshot() = 0;
  // Returns the newest snapshot that is in memory; null: there is none, and nothing is read for it.
  virtual SnapshotPtr known_snapshot() const = 0;
  // Callers hold it for as long as they use it.
  virtual std::shared_ptr<const timeline::Timeline> timeline() = 0;
  virtual double loaded() const { return 1; }               // share of the events that have been read, 0 … 1
  virtual std::string unread_events() const { return ""; }  // a sentence, when not all kept events could be read
  // Whether the job's source files may be read from this machine's disk.
  virtual bool sources_here() const { return false; }

  virtual const rules::Settings& settings() const = 0;  // the settings that it is judged by

  // Returns the same run with nothing in memory; null: the run cannot be opened a second time.
  virtual std::shared_ptr<RunSource> unloaded() const { return nullptr; }

  // Each request for this run calls it.
  void asked(std::chrono::steady_clock::time_point now) { last_asked_ = now.time_since_epoch().count(); }
  std::chrono::steady_clock::time_point last_asked() const {
    return std::chrono::steady_clock::time_point(std::chrono::steady_clock::duration(last_asked_.load()));
  }
  // Called when a viewer has learnt that the run is over.
  void end_was_told() { end_told_ = true; }
  bool end_told() const { return end_told_; }

  FirstEvents& first_events() { return first_events_; }

  // Each request for a picture calls it: somebody is looking at the run.
  void looked_at(std::chrono::steady_clock::time_point now) { last_look_ = now.time_since_epoch().count(); }
  bool watched(std::chrono::steady_clock::time_point now) const {
    const std::chrono::steady_clock::time_point last{std::chrono::steady_clock::duration(last_look_.load())};
    return last.time_since_epoch().count() != 0 && now - last < kStillWatched;
  }

 private:
  static constexpr std::chrono::seconds kStillWatched{5};
  const std::string id_, file_, opening_;
  FirstEvents first_events_;
  std::atomic<std::chrono::steady_clock::rep> last_look_ = 0;
  std::atomic<std::chrono::steady_clock::rep> last_asked_ = 0;
  std::atomic<bool> end_told_ = false;
};

// Identifies the file that was seen first. If another file has its name, or none has, the run is `gone`.
class FileIdentity {
 public:
  FileIdentity() = default;  // of no file
  explicit FileIdentity(const std::string& path);
  bool still_there(const std::string& path) const;

 private:
  std::uint64_t device_ = 0, inode_ = 0;
};

}  // namespace castscope::web
