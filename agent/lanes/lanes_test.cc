// Both ends of a segment together: the reader takes everything that the writer publishes, to the last event.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "agent/lanes/event_views.h"
#include "agent/lanes/lane_writer.h"
#include "agent/lanes/segment_reader.h"
#include "agent/lanes/segment_writer.h"

namespace castscope::lanes {
namespace {

class LanesTest : public testing::Test {
 protected:
  LanesTest() : folder_(testing::TempDir() + "lanes-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~LanesTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<SegmentWriter> writer(std::uint32_t ring_events = 1024, std::uint64_t max_bytes = kMaxSegmentBytes) {
    std::string error;
    SegmentWriter::Options options;
    options.directory = folder_;
    options.ring_events = ring_events;
    options.max_bytes = max_bytes;
    std::unique_ptr<SegmentWriter> made(SegmentWriter::create(options, &error));
    EXPECT_NE(made, nullptr) << error;
    return made;
  }
  static std::unique_ptr<SegmentReader> reader(const SegmentWriter& w) {
    std::unique_ptr<SegmentReader> made;
    std::string error;
    EXPECT_EQ(SegmentReader::open(w.path(), &made, &error), SegmentReader::Outcome::kOpen) << error;
    return made;
  }
  static void push(LaneWriter& lane, std::uint64_t number) {
    if (Event* e = lane.begin_event()) {
      *e = Event{};
      EventWords::tensor(*e) = number;
      e->kind = EventKind::kCast;
      lane.publish();
    }
  }

  std::string folder_;
};

TEST_F(LanesTest, WhatIsPublishedIsTaken) {
  auto w = writer();
  Lane* lane = w->acquire_lane(7);
  LaneWriter out(*w, *lane);
  for (std::uint64_t i = 0; i < 100; ++i) push(out, i);
  auto r = reader(*w);
  ASSERT_TRUE(r->refresh());
  ASSERT_EQ(r->lane_count(), 1u);
  EXPECT_EQ(r->lane_state(0).tid, 7u);
  std::vector<Event> events;
  std::uint64_t first = 9;
  EXPECT_EQ(r->take(0, 1000, &events, &first), 100u);
  EXPECT_EQ(first, 0u);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(EventWords::tensor(events[i]), i);
}

TEST_F(LanesTest, AFullRingDropsAndCounts) {
  auto w = writer(256);
  Lane* lane = w->acquire_lane(1);
  LaneWriter out(*w, *lane);
  for (std::uint64_t i = 0; i < 300; ++i) push(out, i);
  auto r = reader(*w);
  ASSERT_TRUE(r->refresh());
  EXPECT_EQ(r->lane_state(0).written, 256u);
  EXPECT_EQ(r->lane_state(0).dropped, 44u);
}

// Writers at full speed against a reader that keeps taking: received + dropped == attempted, in order, for every lane.
TEST_F(LanesTest, NothingIsLostUncounted) {
  constexpr std::uint64_t kEvents = 200'000;
  constexpr int kThreads = 4;
  auto w = writer(1024);
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int n = 0; n < kThreads; ++n)
    threads.emplace_back([&, n] {
      Lane* lane = w->acquire_lane(static_cast<std::uint32_t>(n + 1));
      Counter* counter = w->new_counter(lane, 1);
      LaneWriter out(*w, *lane);
      for (std::uint64_t i = 1; i <= kEvents; ++i) {
        push(out, i);
        LaneWriter::add(counter->casts, 1);
      }
      running.fetch_sub(1);
    });
  auto r = reader(*w);
  std::vector<std::uint64_t> received(kThreads), newest(kThreads);
  for (bool last = false; !last;) {
    last = running.load() == 0;
    ASSERT_TRUE(r->refresh()) << r->error();
    for (std::size_t i = 0; i < r->lane_count(); ++i) {
      std::vector<Event> events;
      std::uint64_t first = 0;
      const std::size_t n = r->take(i, 1u << 20, &events, &first);
      ASSERT_EQ(first, received[i]);
      for (const Event& e : events) {
        ASSERT_GT(EventWords::tensor(e), newest[i]);
        newest[i] = EventWords::tensor(e);
      }
      received[i] += n;
      r->release(i, first + n);
    }
  }
  for (auto& t : threads) t.join();
  ASSERT_EQ(r->lane_count(), static_cast<std::size_t>(kThreads));
  for (std::size_t i = 0; i < kThreads; ++i) {
    EXPECT_EQ(received[i] + r->lane_state(i).dropped, kEvents);
    std::uint64_t casts = 0;
    for (const CounterValues& c : r->counters(i)) casts += c.casts;
    EXPECT_EQ(casts, kEvents);
  }
}

TEST_F(LanesTest, ALaneGoesToTheNextThread) {
  auto w = writer();
  Lane* first = w->acquire_lane(1);
  w->release_lane(first);
  EXPECT_EQ(w->acquire_lane(2), first);
  EXPECT_NE(w->acquire_lane(3), first);
}

TEST_F(LanesTest, CountersFillManyBlocks) {
  auto w = writer();
  Lane* lane = w->acquire_lane(1);
  for (std::uint32_t site = 1; site <= 500; ++site) LaneWriter::add(w->new_counter(lane, site)->hits, site);
  auto r = reader(*w);
  ASSERT_TRUE(r->refresh());
  std::uint64_t hits = 0;
  for (const CounterValues& c : r->counters(0)) {
    EXPECT_EQ(c.hits, c.site);
    hits += c.hits;
  }
  EXPECT_EQ(hits, 500u * 501u / 2);
}

TEST_F(LanesTest, DefinitionsComeOutAsTheyWentIn) {
  auto w = writer();
  const std::string text(1000, 'x');
  for (std::uint32_t id = 1; id <= 300; ++id)
    ASSERT_TRUE(w->define(DefinitionKind::kString, id, text.data(), static_cast<std::uint32_t>(text.size())));
  auto r = reader(*w);
  ASSERT_TRUE(r->refresh());
  std::string records;
  while (r->definitions(1 << 16, &records)) {
  }
  std::uint32_t seen = 0;
  for (std::size_t at = 0; at < records.size();) {
    DefinitionHeader h;
    std::memcpy(&h, records.data() + at, sizeof h);
    EXPECT_EQ(h.id, ++seen);
    EXPECT_EQ(records.substr(at + sizeof h, h.payload), text);
    at += h.size;
  }
  EXPECT_EQ(seen, 300u);
}

TEST_F(LanesTest, AFullSegmentRefusesAndCounts) {
  auto w = writer(256, 256 << 10);
  Lane* lane = w->acquire_lane(1);
  ASSERT_NE(lane, nullptr);
  std::uint32_t made = 0;
  while (w->new_counter(lane, made + 1) != nullptr) ++made;
  EXPECT_GT(made, 0u);
  const std::string text(60'000, 'x');
  while (w->define(DefinitionKind::kString, 1, text.data(), static_cast<std::uint32_t>(text.size()))) {
  }
  EXPECT_GT(w->header().lost_definitions.load(), 0u);
  auto r = reader(*w);
  EXPECT_TRUE(r->refresh()) << r->error();
}

// Sums of what the reader finds in all lanes and for the threads that got none.
struct Sum {
  std::uint64_t casts = 0, others = 0, bytes = 0, kept = 0, written = 0, dropped = 0;
};
Sum sum_of(SegmentReader& r, std::uint32_t other_site) {
  Sum sum;
  const auto add = [&](const CounterValues& c) {
    (c.site == other_site ? sum.others : sum.casts) += c.casts;
    sum.bytes += c.bytes;
    sum.kept += c.kept;
  };
  EXPECT_TRUE(r.refresh()) << r.error();
  for (std::size_t i = 0; i < r.lane_count(); ++i) {
    for (const CounterValues& c : r.counters(i)) add(c);
    sum.written += r.lane_state(i).written;
    sum.dropped += r.lane_state(i).dropped;
  }
  const ProcessState process = r.process_state();
  add(process.lost);
  add(process.lost_other);
  sum.dropped += process.lost_events;
  return sum;
}

// Counts as an agent does: a site that has no counter goes to the lane's overflow.
void count(SegmentWriter& w, Lane& lane, std::uint32_t site) {
  LaneWriter out(w, lane);
  Counter* counter = w.new_counter(&lane, site);
  if (counter == nullptr) counter = &lane.overflow;
  for (int i = 0; i < 100; ++i) {
    LaneWriter::add(counter->casts, 1);
    LaneWriter::add(counter->bytes, 7);
    LaneWriter::add(counter->kept, 1);
    LaneWriter::add(lane.other.casts, 2);
    if (Event* e = out.begin_event()) {
      *e = Event{};
      out.publish();
    }
  }
}

constexpr std::uint32_t kOtherSite = 1;

TEST_F(LanesTest, TheFirstLanesHaveFullRingsAndLaterOnesSmaller) {
  auto w = writer(kDefaultRingEvents);
  std::vector<std::uint32_t> rings;
  for (std::uint32_t i = 0; i < 1500; ++i) rings.push_back(w->acquire_lane(i)->ring_capacity);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(rings[static_cast<std::size_t>(i)], kDefaultRingEvents);
  EXPECT_TRUE(std::is_sorted(rings.rbegin(), rings.rend()));
  EXPECT_GE(rings[400], kSmallestRingEvents);
  EXPECT_EQ(rings.back(), 0u);
}

// Each thread has a lane of its own and counters in it, and there is room left for definitions.
TEST_F(LanesTest, FourHundredThreadsAtOnceAreCountedSiteBySite) {
  auto w = writer(kDefaultRingEvents);
  w->set_other_site(kOtherSite);
  std::vector<Lane*> lanes;
  for (std::uint32_t i = 0; i < 400; ++i) {
    Lane* lane = w->acquire_lane(i);
    ASSERT_NE(lane->id, 0u);
    ASSERT_NE(w->new_counter(lane, 2), nullptr);
    lanes.push_back(lane);
    count(*w, *lane, i + 10);
  }
  EXPECT_TRUE(w->define(DefinitionKind::kString, 1, "text", 4));
  auto r = reader(*w);
  const Sum sum = sum_of(*r, kOtherSite);
  EXPECT_EQ(sum.casts, 40'000u);
  EXPECT_EQ(sum.others, 80'000u);
  EXPECT_EQ(sum.written + sum.dropped, 40'000u);
  for (std::size_t i = 0; i < 400; ++i) EXPECT_EQ(r->counters(i)[0].casts, 0u) << "nothing is beyond its site";
}

// A segment with next to no room: lanes without a ring, then private ones. Nothing goes uncounted.
TEST_F(LanesTest, WithoutAnyRoomCountsAreExact) {
  auto w = writer(256, 128 << 10);
  w->set_other_site(kOtherSite);
  const std::string text(60'000, 'x');
  while (w->define(DefinitionKind::kString, 1, text.data(), 60'000)) {
  }
  while (w->define(DefinitionKind::kString, 1, text.data(), 100)) {
  }
  std::vector<std::thread> threads;
  std::atomic<std::uint32_t> with_lane{0}, privately{0}, counted{0};
  for (std::uint32_t i = 0; i < 200; ++i)
    threads.emplace_back([&, i] {
      Lane* lane = w->acquire_lane(i);
      (lane->id == 0 ? privately : with_lane).fetch_add(1);
      count(*w, *lane, i + 10);
      counted.fetch_add(1);
      while (counted.load() < 200) std::this_thread::yield();  // all alive at once
      w->release_lane(lane);
    });
  auto r = reader(*w);
  for (auto& thread : threads) thread.join();
  EXPECT_GE(with_lane.load(), kSpareLanes);
  EXPECT_GT(privately.load(), 0u);
  const Sum sum = sum_of(*r, kOtherSite);
  EXPECT_EQ(sum.casts, 20'000u);
  EXPECT_EQ(sum.others, 40'000u);
  EXPECT_EQ(sum.bytes, 140'000u);
  EXPECT_EQ(sum.kept, 20'000u);
  EXPECT_EQ(sum.written + sum.dropped, 20'000u);
}

// Counts that no event follows (pass-throughs) are told when their thread ends, or when the process does.
TEST_F(LanesTest, APrivateLaneIsToldAtTheEnd) {
  auto w = writer(256, 64 << 10);
  Lane* lane = nullptr;
  while ((lane = w->acquire_lane(1))->id != 0) {
  }
  Lane* other = w->acquire_lane(2);
  auto r = reader(*w);
  LaneWriter::add(lane->overflow.passes, 3);
  EXPECT_EQ(r->process_state().lost.passes, 0u);
  w->release_lane(lane);
  EXPECT_EQ(r->process_state().lost.passes, 3u);
  EXPECT_EQ(w->acquire_lane(3), lane) << "it serves again";
  LaneWriter::add(lane->overflow.passes, 1);
  LaneWriter::add(other->overflow.hits, 5);
  w->mark_end(EndMark::kExited, 1);
  w->release_lane(lane);
  EXPECT_EQ(r->process_state().lost.passes, 4u);
  EXPECT_EQ(r->process_state().lost.hits, 5u);
}

TEST_F(LanesTest, ThreadsThatComeAndGoShareOneLane) {
  auto w = writer(1024);
  w->set_other_site(kOtherSite);
  for (std::uint32_t i = 0; i < 1000; ++i)
    std::thread([&] {
      Lane* lane = w->acquire_lane(i);
      count(*w, *lane, i + 10);
      w->release_lane(lane);
    }).join();
  auto r = reader(*w);
  const Sum sum = sum_of(*r, kOtherSite);
  EXPECT_EQ(r->lane_count(), 1u);
  EXPECT_EQ(sum.casts, 100'000u);
  EXPECT_EQ(sum.others, 200'000u);
  EXPECT_EQ(sum.written + sum.dropped, 100'000u);
}

// A full /dev/shm, where the file cannot grow, gives a sentence: no signal, and nothing is left behind.
TEST_F(LanesTest, NoRoomIsASentence) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{8192, 8192};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::string error;
    SegmentWriter::Options options;
    options.directory = folder_;
    const bool refused = SegmentWriter::create(options, &error) == nullptr;
    _exit(refused && error.find("no room") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(LanesTest, TheEndIsMarkedAndReadableAfterwards) {
  auto w = writer();
  auto r = reader(*w);
  EXPECT_EQ(r->end_mark(), EndMark::kRunning);
  w->mark_end(EndMark::kExited, 3 + 1);
  EXPECT_EQ(r->end_mark(), EndMark::kExited);
  EXPECT_EQ(r->exit_status(), 3);
}

// The writer is killed at a random moment: all that it had published is there, and the counters keep their values.
TEST_F(LanesTest, AKilledWriterLeavesWhatItPublished) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto w = writer(256);
    Lane* lane = w->acquire_lane(1);
    Counter* counter = w->new_counter(lane, 1);
    LaneWriter out(*w, *lane);
    const std::string path = w->path();
    if (write(pipe_ends[1], path.data(), path.size()) < 0) _exit(1);
    for (std::uint64_t i = 1;; ++i) {
      LaneWriter::add(counter->casts, 1);
      push(out, i);
    }
  }
  char path[4096] = "";
  ASSERT_GT(read(pipe_ends[0], path, sizeof path - 1), 0);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  std::unique_ptr<SegmentReader> r;
  std::string error;
  ASSERT_EQ(SegmentReader::open(path, &r, &error), SegmentReader::Outcome::kOpen) << error;
  ASSERT_TRUE(r->refresh());
  EXPECT_EQ(r->end_mark(), EndMark::kRunning);
  const LaneState state = r->lane_state(0);
  std::uint64_t casts = 0;
  for (const CounterValues& c : r->counters(0)) casts += c.casts;
  // The counter is added to before the event is written: they differ by at most one call.
  EXPECT_LE(casts - (state.written + state.dropped), 1u);
}

}  // namespace
}  // namespace castscope::lanes
