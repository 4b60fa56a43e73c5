// The events of a run in memory, with level of detail: what a viewer asks again and again, of any window of time.
//
// Fed by one thread at a time with the events of each lane in order; asked by any number of threads meanwhile. A
// picture is never wider than its pixels, however many events it shows, and an occupied column is never missed:
// series/series.h has the arithmetic. Beyond the budget the oldest events are held coarser; what they add up to stays
// exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/lanes/format.h"
#include "server/timeline/questions/queries.h"
#include "server/timeline/tracks/numbers.h"
#include "server/timeline/tracks/tracks.h"

namespace castscope::timeline {

struct Budget {
  std::size_t bytes = std::size_t{512} << 20;
};

class Timeline {
 public:
  explicit Timeline(Budget budget = {});
  ~Timeline();

  // ---- what happened: by one thread at a time
  // Event times of a process are ns since its begin. Of a process that is fed without it: the run's begin.
  void process_begin(std::uint32_t process, std::int64_t begin);
  // What all lanes of a process do together, its steps and its cache, is seen once it is settled.
  void feed(const Numbers&, std::uint32_t process, std::uint32_t lane, std::span<const lanes::Event>);
  // No lane of the process will be fed anything that happened up to `time` (ns since the process's begin).
  void settle(std::uint32_t process, std::int64_t time);
  void settle();                    // of all processes, as far as they were fed
  void gap(std::uint32_t process);  // events of it are missing here: what is open ends at the last time told
  void end(std::uint32_t process);
  void end();

  // ---- questions: by any thread at any time
  std::vector<Track> tracks() const;  // by process, lane, kind, depth; then by device, stream
  std::vector<Shade> shades() const;  // by id
  Progress progress() const;
  // In the viewer's form: questions/picture_encoding.h.
  std::string picture(const PictureQuery&) const;
  // The nearest event of a track that touches [at - within, at + within].
  std::optional<FoundEvent> event_at(std::uint32_t track, std::int64_t at, std::int64_t within) const;
  // The one that begins next after `at`, or last before it.
  std::optional<FoundEvent> neighbour(const NeighbourQuery&) const;
  // Track by track: of a run that goes on, later ones may have been told more.
  Summary summary(const SummaryQuery&) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace castscope::timeline
