#include "server/timeline/timeline.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <tuple>

#include "server/timeline/questions/questions.h"
#include "server/timeline/tracks/track_builder.h"

namespace castscope::timeline {
namespace {

// So many events are added under one lock, which takes about half a millisecond: a question may have to wait that long.
constexpr std::size_t kAtOnce = 4096;

// A question may name any time; one ns before and after all events leaves room for arithmetic.
std::int64_t bounded(std::int64_t time) { return std::clamp<std::int64_t>(time, -1, kLatestTime + 1); }

}  // namespace

struct Timeline::State {
  explicit State(Budget budget) : tracks(budget.bytes) {}
  template <typename Change>
  void write(const Change& change) {
    const std::lock_guard turn(door);
    const std::unique_lock lock(mutex);
    change();
    ++revision;
  }
  std::shared_lock<std::shared_mutex> read() const {
    const std::lock_guard turn(door);
    return std::shared_lock(mutex);
  }

  // A thread that waits to write holds the door: events come in however many questions there are.
  mutable std::mutex door;
  mutable std::shared_mutex mutex;  // guards all members below
  TrackBuilder tracks;
  std::uint64_t revision = 0;
};

Timeline::Timeline(Budget budget) : state_(std::make_unique<State>(budget)) {}
Timeline::~Timeline() = default;

void Timeline::process_begin(store::ProcessId process, std::int64_t begin) {
  state_->write([&] { state_->tracks.process_begin(process, begin); });
}

void Timeline::feed(const Numbers& numbers, store::ProcessId process, std::uint32_t lane,
                    std::span<const lanes::Event> events) {
  while (!events.empty()) {
    const auto now = events.first(std::min(events.size(), kAtOnce));
    state_->write([&] { state_->tracks.feed(numbers, process, lane, now); });
    events = events.subspan(now.size());
  }
}

void Timeline::settle(store::ProcessId process, std::int64_t time) {
  state_->write([&] { state_->tracks.settle(process, time); });
}
void Timeline::settle() {
  state_->write([&] { state_->tracks.settle(); });
}
void Timeline::gap(store::ProcessId process) {
  state_->write([&] { state_->tracks.gap(process); });
}
void Timeline::end(store::ProcessId process) {
  state_->write([&] { state_->tracks.end(process); });
}
void Timeline::end() {
  state_->write([&] { state_->tracks.end(); });
}

std::vector<Track> Timeline::tracks() const {
  std::vector<Track> tracks;
  {
    const auto lock = state_->read();
    for (const Row& row : state_->tracks.rows()) tracks.push_back(row.track);
  }
  // Rows of GPUs come after the rows of the process's threads.
  const auto place = [](const Track& t) {
    const bool on_gpu = t.kind == TrackKind::kKernels;
    return std::tuple(t.process, on_gpu, t.device, t.stream, t.lane, t.kind, t.depth);
  };
  std::sort(tracks.begin(), tracks.end(), [&](const Track& a, const Track& b) { return place(a) < place(b); });
  return tracks;
}

std::vector<Shade> Timeline::shades() const {
  const auto lock = state_->read();
  return state_->tracks.shades().all();
}

Progress Timeline::progress() const {
  const auto lock = state_->read();
  const TrackBuilder& tracks = state_->tracks;
  return {std::min(tracks.begin(), tracks.newest()), tracks.newest(), tracks.events(), state_->revision,
          tracks.memory()};
}

std::vector<std::pair<std::int64_t, std::int64_t>> Timeline::not_kept(store::ProcessId process) const {
  const auto lock = state_->read();
  return state_->tracks.missing(process);
}

std::string Timeline::picture(const PictureQuery& query) const {
  const auto lock = state_->read();
  return draw(state_->tracks, query, state_->revision);
}

std::optional<FoundEvent> Timeline::event_at(std::uint32_t track, std::int64_t at, std::int64_t within,
                                             std::uint8_t shade, const Filter& filter) const {
  const auto lock = state_->read();
  return find_at(state_->tracks, track, bounded(at), bounded(within), shade, filter);
}

std::optional<FoundEvent> Timeline::neighbour(const NeighbourQuery& asked) const {
  NeighbourQuery query = asked;
  query.at = bounded(asked.at);
  const auto lock = state_->read();
  return find_neighbour(state_->tracks, query);
}

Summary Timeline::summary(const SummaryQuery& asked) const {
  SummaryQuery query = asked;
  query.from = bounded(asked.from);
  query.to = bounded(asked.to);
  Summing summing(query);
  for (std::size_t i = 0;; ++i) {
    const auto lock = state_->read();
    if (i >= state_->tracks.rows().size()) return summing.summary();
    summing.add(state_->tracks, state_->tracks.rows()[i]);
  }
}

Durations Timeline::durations(const DurationQuery& asked) const {
  DurationQuery query = asked;
  query.from = bounded(asked.from);
  query.to = bounded(asked.to);
  Measuring measuring(query);
  for (std::size_t i = 0;;) {
    const auto lock = state_->read();
    if (i >= state_->tracks.rows().size()) return measuring.durations(state_->tracks);
    if (!measuring.add(state_->tracks, state_->tracks.rows()[i])) ++i;
  }
}

}  // namespace castscope::timeline
