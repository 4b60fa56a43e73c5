// A run as the viewer shows it, wherever it comes from: a finished file (file_run.h), or one that is being recorded
// here (live_run.h). All functions may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/timeline/timeline.h"
#include "server/web/runs/finding_places.h"
#include "server/web/runs/snapshot.h"

namespace castscope::web {

enum class RunState {
  kLoading,   // its file is being read
  kLive,      // it goes on
  kFinished,  // its end was seen
  kLost,      // it has no end: its recorder is gone, or elsewhere
  kGone,      // its file was moved or deleted; what is in memory is still told
};
std::string_view name(RunState);  // "loading", "live", …

// What a list of runs tells, without reading all of it.
struct RunSummary {
  store::RunStart start;
  std::optional<store::RunEnd> end;
  std::uint64_t events = 0;
};

class RunSource {
 public:
  RunSource(std::string id, std::string file) : id_(std::move(id)), file_(std::move(file)) {}
  RunSource(const RunSource&) = delete;
  RunSource& operator=(const RunSource&) = delete;
  virtual ~RunSource() = default;

  const std::string& id() const { return id_; }      // names it in URLs
  const std::string& file() const { return file_; }  // the run file
  virtual RunState state() const = 0;
  virtual absl::StatusOr<RunSummary> summary() const = 0;
  // The newest one. The first call may take as long as reading the file; an error is a sentence about the file.
  virtual absl::StatusOr<SnapshotPtr> snapshot() = 0;
  // Held for as long as something is asked of it.
  virtual std::shared_ptr<const timeline::Timeline> timeline() = 0;
  virtual double loaded() const { return 1; }               // share of the events that were read, 0 … 1
  virtual std::string unread_events() const { return ""; }  // a sentence, when not all kept events could be read
  // May the job's source files be read from this machine's disk?
  virtual bool sources_here() const { return false; }

  virtual const rules::Settings& settings() const = 0;  // by which it is judged

  // The same run with nothing in memory; null: it is not to be had a second time.
  virtual std::shared_ptr<RunSource> unloaded() const { return nullptr; }

  // Something of it is asked for: said by each request.
  void asked(std::chrono::steady_clock::time_point now) { last_asked_ = now.time_since_epoch().count(); }
  std::chrono::steady_clock::time_point last_asked() const {
    return std::chrono::steady_clock::time_point(std::chrono::steady_clock::duration(last_asked_.load()));
  }
  // Somebody was told that it is over.
  void end_was_told() { end_told_ = true; }
  bool end_told() const { return end_told_; }

  FirstEvents& first_events() { return first_events_; }

  // Somebody looks at it: said by each request for a picture.
  void looked_at(std::chrono::steady_clock::time_point now) { last_look_ = now.time_since_epoch().count(); }
  bool watched(std::chrono::steady_clock::time_point now) const {
    const std::chrono::steady_clock::time_point last{std::chrono::steady_clock::duration(last_look_.load())};
    return last.time_since_epoch().count() != 0 && now - last < kStillWatched;
  }

 private:
  static constexpr std::chrono::seconds kStillWatched{5};
  const std::string id_, file_;
  FirstEvents first_events_;
  std::atomic<std::chrono::steady_clock::rep> last_look_ = 0;
  std::atomic<std::chrono::steady_clock::rep> last_asked_ = 0;
  std::atomic<bool> end_told_ = false;
};

// The file as it was when it was first seen: another one under its name, or none, makes the run `gone`.
class FileIdentity {
 public:
  explicit FileIdentity(const std::string& path);
  bool still_there(const std::string& path) const;

 private:
  std::uint64_t device_ = 0, inode_ = 0;
};

}  // namespace castscope::web
