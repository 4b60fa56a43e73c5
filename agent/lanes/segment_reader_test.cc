#include "agent/lanes/segment_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "agent/lanes/lane_writer.h"
#include "agent/lanes/segment_writer.h"

namespace castscope::lanes {
namespace {

class SegmentReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/lanes-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override {
    reader_.reset();
    writer_.reset();
    std::filesystem::remove_all(directory_);
  }

  SegmentWriter& write(std::uint32_t ring_events = 256) {
    std::string error;
    writer_.reset(SegmentWriter::create(
        {.directory = directory_, .ring_events = ring_events, .max_bytes = kMaxSegmentBytes, .clock = kOwnCounter},
        &error));
    EXPECT_NE(writer_, nullptr) << error;
    return *writer_;
  }
  SegmentReader& read() {
    EXPECT_EQ(try_read(writer_->path()), SegmentReader::Outcome::kOpen) << error_;
    return *reader_;
  }
  SegmentReader::Outcome try_read(const std::string& path) { return SegmentReader::open(path, &reader_, &error_); }
  LaneWriter lane_in(SegmentWriter& segment) { return LaneWriter(segment, *segment.acquire_lane(7)); }
  Lane& lane() { return *writer_->acquire_lane(7); }
  void emit(LaneWriter& to, std::uint32_t site, int times = 1) {
    for (int i = 0; i < times; ++i) {
      Event* event = to.begin_event();
      if (event == nullptr) continue;
      *event = Event{};
      event->kind = EventKind::kCast;
      event->site = site;
      to.publish();
    }
  }
  std::vector<Event> take_all(std::size_t lane = 0) {
    std::vector<Event> events;
    std::uint64_t first = 0;
    reader_->take(lane, 1u << 20, &events, &first);
    return events;
  }
  std::string all_definitions() {
    std::string records;
    while (reader_->definitions(64, &records)) {
    }
    return records;
  }
  void poke(std::uint64_t offset, const void* bytes, std::size_t n) {
    const int fd = open(writer_->path().c_str(), O_WRONLY);
    ASSERT_EQ(pwrite(fd, bytes, n, static_cast<off_t>(offset)), static_cast<ssize_t>(n));
    close(fd);
  }
  void poke64(std::uint64_t offset, std::uint64_t value) { poke(offset, &value, sizeof value); }
  std::string file(const std::string& name, const std::string& content) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  std::string directory_, error_;
  std::unique_ptr<SegmentWriter> writer_;
  std::unique_ptr<SegmentReader> reader_;
};

TEST_F(SegmentReaderTest, TellsWhoWritesIt) {
  write();
  EXPECT_EQ(read().pid(), static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(reader_->parent_pid(), static_cast<std::uint32_t>(getppid()));
  EXPECT_EQ(reader_->start_ticks(), own_start_ticks());
  EXPECT_EQ(reader_->end_mark(), EndMark::kRunning);
  EXPECT_EQ(reader_->exit_status(), -1);
}

TEST_F(SegmentReaderTest, TakesEventsInOrderAcrossTheRingsEnd) {
  LaneWriter to = lane_in(write());
  read();
  for (std::uint32_t round = 0; round < 5; ++round) {
    for (std::uint32_t i = 0; i < 200; ++i) emit(to, round * 200 + i);
    const std::vector<Event> events = take_all();
    ASSERT_EQ(events.size(), 200u);
    for (std::uint32_t i = 0; i < 200; ++i) ASSERT_EQ(events[i].site, round * 200 + i);
    reader_->release(0, reader_->taken(0));
  }
  EXPECT_EQ(reader_->lane_state(0).dropped, 0u);
}

TEST_F(SegmentReaderTest, WhatIsTakenButNotReleasedStaysInTheRing) {
  LaneWriter to = lane_in(write());
  read();
  emit(to, 1, 256);
  EXPECT_EQ(take_all().size(), 256u);
  emit(to, 2, 10);
  EXPECT_EQ(reader_->lane_state(0).dropped, 10u);
  read();  // as it is after the death of the first reader
  EXPECT_EQ(take_all().size(), 256u);
  reader_->release(0, 256);
  emit(to, 3, 1);
  EXPECT_EQ(take_all().front().site, 3u);
}

TEST_F(SegmentReaderTest, ReceivedAndDroppedAreAllThatWasTried) {
  LaneWriter to = lane_in(write());
  read();
  constexpr int kTried = 200'000;
  std::thread writer([&] { emit(to, 1, kTried); });
  std::uint64_t received = 0;
  while (received + reader_->lane_state(0).dropped < kTried) {
    received += take_all().size();
    reader_->release(0, reader_->taken(0));
  }
  writer.join();
  EXPECT_EQ(received, reader_->lane_state(0).written);
  EXPECT_EQ(received + reader_->lane_state(0).dropped, static_cast<std::uint64_t>(kTried));
}

TEST_F(SegmentReaderTest, SeesLanesThatComeLater) {
  write();
  read();
  EXPECT_EQ(reader_->lane_count(), 0u);
  LaneWriter a(*writer_, lane()), b(*writer_, lane());
  emit(b, 5);
  ASSERT_TRUE(reader_->refresh());
  ASSERT_EQ(reader_->lane_count(), 2u);
  EXPECT_EQ(reader_->lane_state(1).id, 2u);
  EXPECT_EQ(take_all(1).size(), 1u);
}

TEST_F(SegmentReaderTest, CountsPerSiteOverManyBlocks) {
  write();
  Lane& mine = lane();
  for (std::uint32_t site = 1; site <= 1000; ++site) LaneWriter::add(writer_->new_counter(&mine, site)->casts, site);
  LaneWriter::add(mine.overflow.hits, 9);
  const auto& counters = read().counters(0);
  ASSERT_EQ(counters.size(), 1001u);
  EXPECT_EQ(counters[0].hits, 9u);
  for (std::uint32_t site = 1; site <= 1000; ++site) {
    ASSERT_EQ(counters[site].site, site);
    ASSERT_EQ(counters[site].casts, site);
  }
}

TEST_F(SegmentReaderTest, AddsUpASiteThatOneLaneCountsTwice) {
  write();
  Lane& mine = lane();
  LaneWriter::add(writer_->new_counter(&mine, 4)->hits, 2);
  LaneWriter::add(writer_->new_counter(&mine, 4)->hits, 3);
  read();
  ASSERT_EQ(reader_->counters(0).size(), 2u);
  EXPECT_EQ(reader_->counters(0)[1].hits, 5u);
  EXPECT_EQ(reader_->counters(0)[1].hits, 5u);  // a snapshot, not a sum of snapshots
}

TEST_F(SegmentReaderTest, ReadsDefinitionsOnceAndAgainFromTheBeginning) {
  write();
  const std::string long_text(60'000, 'x');
  for (std::uint32_t id = 1; id <= 20; ++id) writer_->define(DefinitionKind::kString, id, long_text.data(), 60'000);
  read();
  const std::string first = all_definitions();
  EXPECT_EQ(first.size(), 20u * (60'000 + sizeof(DefinitionHeader)));
  EXPECT_EQ(all_definitions(), "");
  writer_->define(DefinitionKind::kString, 21, "y", 1);
  const std::string more = all_definitions();
  EXPECT_EQ(more.size(), sizeof(DefinitionHeader) + 8);
  reader_->seek_definitions({});
  EXPECT_EQ(all_definitions(), first + more);
}

TEST_F(SegmentReaderTest, ConvertsTheClockToNanoseconds) {
  write();
  read();
  const auto& header = writer_->header();
  while (!reader_->clock().settled()) ASSERT_TRUE(reader_->refresh());  // two seconds of real time
  const std::uint64_t ns = reader_->clock().since_begin_ns(writer_->now());
  const std::uint64_t real = monotonic_ns() - header.monotonic0_ns;
  EXPECT_NEAR(static_cast<double>(ns), static_cast<double>(real), 2e6);
  EXPECT_EQ(reader_->clock().since_begin_ns(header.clock0 - 1), 0u);
}

TEST_F(SegmentReaderTest, AWriterKilledInTheMiddleLeavesAllItPublished) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string error;
    auto* segment = SegmentWriter::create(
        {.directory = directory_, .ring_events = 1u << 12, .max_bytes = kMaxSegmentBytes, .clock = kOwnCounter},
        &error);
    LaneWriter to(*segment, *segment->acquire_lane(1));
    emit(to, 3, 1000);
    (void)!::write(pipe_ends[1], "x", 1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(pipe_ends[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_EQ(try_read(directory_ + "/" + std::to_string(child) + "-0.lanes"), SegmentReader::Outcome::kOpen) << error_;
  EXPECT_EQ(take_all().size(), 1000u);
  EXPECT_EQ(reader_->end_mark(), EndMark::kRunning);
}

TEST_F(SegmentReaderTest, TellsTheEndAndItsStatus) {
  write();
  writer_->mark_end(EndMark::kExited, 3 + 1);
  EXPECT_EQ(read().end_mark(), EndMark::kExited);
  EXPECT_EQ(reader_->exit_status(), 3);
}

TEST_F(SegmentReaderTest, RefusesWhatIsNoSegment) {
  EXPECT_EQ(try_read(file("a.lanes", std::string(8192, 'x'))), SegmentReader::Outcome::kRefused);
  EXPECT_NE(error_.find("not a segment of castscope"), std::string::npos) << error_;
  EXPECT_EQ(try_read(directory_ + "/none.lanes"), SegmentReader::Outcome::kRefused);
  EXPECT_EQ(try_read(directory_), SegmentReader::Outcome::kRefused);
}

TEST_F(SegmentReaderTest, AFileWithoutItsMagicIsNotReady) {
  EXPECT_EQ(try_read(file("empty.lanes", "")), SegmentReader::Outcome::kNotReady);
  EXPECT_EQ(try_read(file("short.lanes", std::string(100, '\0'))), SegmentReader::Outcome::kNotReady);
  EXPECT_EQ(try_read(file("zero.lanes", std::string(8192, '\0'))), SegmentReader::Outcome::kNotReady);
}

TEST_F(SegmentReaderTest, RefusesAnotherVersion) {
  write();
  const std::uint32_t version = kVersion + 1;
  poke(offsetof(SegmentHeader, version), &version, sizeof version);
  EXPECT_EQ(try_read(writer_->path()), SegmentReader::Outcome::kRefused);
  EXPECT_NE(error_.find("version " + std::to_string(kVersion)), std::string::npos) << error_;
}

TEST_F(SegmentReaderTest, OfATruncatedSegmentTheRestIsRead) {
  LaneWriter to = lane_in(write(1u << 14));
  emit(to, 1, 100);
  LaneWriter::add(to.lane().overflow.casts, 7);
  ASSERT_EQ(truncate(writer_->path().c_str(), 100'000), 0);
  read();
  EXPECT_NE(reader_->damage().find("outside the file"), std::string::npos) << reader_->damage();
  EXPECT_TRUE(take_all().empty());
  EXPECT_EQ(reader_->counters(0)[0].casts, 7u);
}

TEST_F(SegmentReaderTest, NoticesThatTheFileShrankUnderIt) {
  write();
  read();
  ASSERT_EQ(truncate(writer_->path().c_str(), 4096), 0);
  EXPECT_FALSE(reader_->refresh());
  EXPECT_NE(reader_->error().find("cut short"), std::string::npos);
}

TEST_F(SegmentReaderTest, FollowsNoOffsetOutOfTheFile) {
  write();
  for (const std::uint64_t bad : {std::uint64_t{64}, std::uint64_t{4097}, std::uint64_t{1} << 40, ~std::uint64_t{63}}) {
    poke64(offsetof(SegmentHeader, first_lane), bad);
    EXPECT_EQ(try_read(writer_->path()), SegmentReader::Outcome::kRefused) << bad;
  }
}

TEST_F(SegmentReaderTest, AnImpossibleHeadCostsTheLaterEventsOfItsLaneAndNothingElse) {
  LaneWriter to = lane_in(write()), other = lane_in(*writer_);
  read();
  emit(to, 1, 3);
  EXPECT_EQ(take_all().size(), 3u);
  to.lane().head.store(1u << 20);
  EXPECT_TRUE(take_all().empty());
  EXPECT_NE(reader_->damage().find("more events than it has room for"), std::string::npos) << reader_->damage();
  EXPECT_EQ(reader_->lane_state(0).written, 3u) << "what it says now is no number of events";
  LaneWriter::add(to.lane().overflow.casts, 7);
  EXPECT_EQ(reader_->counters(0)[0].casts, 7u);
  emit(other, 1, 2);
  EXPECT_EQ(take_all(1).size(), 2u);
  EXPECT_EQ(reader_->error(), "");
}

TEST_F(SegmentReaderTest, ALaneThatCannotBeFoundCostsThoseBeforeItNothing) {
  write();
  Lane &first = lane(), &second = lane();
  LaneWriter::add(first.overflow.casts, 7);
  second.next.store(1u << 30);
  ASSERT_EQ(read().lane_count(), 2u);
  EXPECT_NE(reader_->damage().find("a lane cannot be found"), std::string::npos) << reader_->damage();
  EXPECT_EQ(reader_->counters(0)[0].casts, 7u);
}

TEST_F(SegmentReaderTest, ABlockOfCountersThatCannotBeFoundCostsThoseBeforeItNothing) {
  write();
  Lane& mine = lane();
  for (std::uint32_t site = 1; site <= 200; ++site) LaneWriter::add(writer_->new_counter(&mine, site)->casts, site);
  poke64(mine.first_counters, 4096);  // a loop
  const auto& counters = read().counters(0);
  ASSERT_EQ(counters.size(), 128u);
  for (std::uint32_t site = 1; site <= 127; ++site) ASSERT_EQ(counters[site].casts, site);
  EXPECT_NE(reader_->damage().find("a block of counters"), std::string::npos) << reader_->damage();
}

TEST_F(SegmentReaderTest, AnImpossibleDefinitionCostsLaterOnesAndNothingElse) {
  write();
  Lane& mine = lane();
  writer_->define(DefinitionKind::kString, 1, "abc", 3);
  const std::uint32_t size = 1u << 30;
  poke(writer_->header().first_definitions + sizeof(DefinitionBlock), &size, sizeof size);
  read();
  EXPECT_EQ(all_definitions(), "");
  EXPECT_NE(reader_->damage().find("impossible length"), std::string::npos);
  LaneWriter::add(writer_->new_counter(&mine, 1)->casts, 7);
  EXPECT_EQ(reader_->counters(0)[1].casts, 7u);
}

// Whichever single word of a real segment is overwritten: no crash, no endless loop, and memory within reason.
TEST_F(SegmentReaderTest, SurvivesRandomDamage) {
  write();
  Lane& mine = lane();
  LaneWriter to(*writer_, mine);
  emit(to, 1, 50);
  for (std::uint32_t site = 1; site <= 300; ++site) writer_->new_counter(&mine, site);
  for (std::uint32_t id = 1; id <= 100; ++id) writer_->define(DefinitionKind::kString, id, "text", 4);
  std::ifstream in(writer_->path(), std::ios::binary);
  std::string good(writer_->header().allocated.load(), '\0');  // the bytes beyond are not in use
  in.read(good.data(), static_cast<std::streamsize>(good.size()));

  std::mt19937_64 random(20261121);
  const std::uint64_t values[] = {0, 1, 63, 64, 4096, 1u << 16, ~0ull, 1ull << 63, good.size(), good.size() - 64};
  const std::uint64_t lane_at = writer_->header().first_lane, definitions_at = writer_->header().first_definitions;
  for (int round = 0; round < 3000; ++round) {
    std::string bad = good;
    const std::uint64_t bases[] = {0, lane_at, definitions_at, mine.first_counters};
    for (int changes = 0; changes < 2; ++changes) {
      const std::uint64_t at = bases[random() % 4] + random() % 64 * 4;
      const std::uint64_t value = random() % 4 == 0 ? random() : values[random() % std::size(values)];
      std::memcpy(bad.data() + at, &value, sizeof value);
    }
    if (random() % 8 == 0) bad.resize(random() % bad.size());
    if (try_read(file("bad.lanes", bad)) != SegmentReader::Outcome::kOpen) continue;
    for (std::size_t l = 0; l < reader_->lane_count(); ++l) {
      EXPECT_LE(take_all(l).size(), good.size() / sizeof(Event));
      reader_->counters(l);
      reader_->release(l, reader_->taken(l));
    }
    EXPECT_LE(all_definitions().size(), good.size());
    reader_->refresh();
  }
}

}  // namespace
}  // namespace castscope::lanes
