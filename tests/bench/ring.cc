// Measures how many events a second one writer can put into its lane's ring while a reader takes them out of the shared
// memory on another core: bench_ring --benchmark_format=json. The ring has its default size; "dropped" counts events
// that found no room.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/lanes/event_views.h"
#include "agent/lanes/lane_writer.h"
#include "agent/lanes/segment_reader.h"
#include "agent/lanes/segment_writer.h"

namespace castscope::lanes {
namespace {

class Segment {
 public:
  Segment() {
    std::string pattern = "/dev/shm/castscope-bench-XXXXXX", error;
    directory_ = mkdtemp(pattern.data());
    writer_.reset(SegmentWriter::create({.directory = directory_}, &error));
    if (writer_ == nullptr) {
      std::fprintf(stderr, "bench_ring: %s\n", error.c_str());
      std::exit(1);
    }
  }
  ~Segment() { std::filesystem::remove_all(directory_); }
  SegmentWriter& writer() { return *writer_; }

 private:
  std::string directory_;
  std::unique_ptr<SegmentWriter> writer_;
};

void write_one(LaneWriter& lane, std::uint32_t site) {
  const Lane& cursors = lane.lane();
  const std::uint64_t head = cursors.head.load(std::memory_order_relaxed);
  if ((head & 1023) == 0)  // there is room for the next 1024
    while (head + 1024 - cursors.tail.load(std::memory_order_acquire) > cursors.ring_capacity) _mm_pause();
  Event event{};
  event.time = lane.now();
  EventWords::tensor(event) = 0x7f0000001000;
  event.site = site;
  EventWords::dims(event)[0] = EventWords::dims(event)[1] = 8;
  event.kind = EventKind::kHit;
  event.ndim = 2;
  if (Event* slot = lane.begin_event(); slot != nullptr) {
    *slot = event;
    lane.publish();
  }
}

// Takes events and frees their room until told to stop; returns how many events it has seen.
std::uint64_t drain(const std::string& path, const std::atomic<bool>& stop) {
  std::unique_ptr<SegmentReader> reader;
  std::string error;
  SegmentReader::open(path, &reader, &error);
  std::vector<Event> events;
  std::uint64_t seen = 0, first = 0;
  for (bool last = false; reader != nullptr;) {
    const bool stopping = stop.load();
    reader->refresh();
    events.clear();
    const std::size_t n = reader->lane_count() == 0 ? 0 : reader->take(0, 1 << 14, &events, &first);
    if (n > 0) reader->release(0, first + n);
    seen += n;
    if (n == 0 && last) break;
    last = stopping && n == 0;
  }
  return seen;
}

void BM_Ring(benchmark::State& state) {
  Segment segment;
  LaneWriter lane(segment.writer(), *segment.writer().acquire_lane(1));
  std::atomic<bool> stop{false};
  std::uint64_t seen = 0;
  std::thread reader([&] { seen = drain(segment.writer().path(), stop); });
  std::uint32_t site = 0;
  for (auto _ : state) write_one(lane, ++site & 63);
  stop = true;
  reader.join();
  const auto written = lane.lane().head.load(), dropped = lane.lane().dropped.load();
  state.SetItemsProcessed(state.iterations());
  state.counters["dropped"] = static_cast<double>(dropped);
  state.counters["lost"] = static_cast<double>(written) - static_cast<double>(seen);
  if (written + dropped != static_cast<std::uint64_t>(state.iterations()) || seen != written)
    state.SkipWithError("received + dropped is not what was written");
}
BENCHMARK(BM_Ring)->MinTime(2)->UseRealTime();

}  // namespace
}  // namespace castscope::lanes

BENCHMARK_MAIN();
