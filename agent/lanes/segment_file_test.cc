// The memory of a segment, in a process that changes its descriptors, rights and limits at will.
#include "agent/lanes/segment_file.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "agent/lanes/descriptor.h"
#include "agent/lanes/segment_reader.h"
#include "agent/lanes/segment_writer.h"

namespace castscope::lanes {
namespace {

constexpr std::uint64_t kMegabyte = 1 << 20;
constexpr int kSkipped = 77;

class SegmentFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/segment-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<SegmentFile> file() {
    std::string error;
    auto made = SegmentFile::create(folder_, kMaxSegmentBytes, &error);
    EXPECT_NE(made, nullptr) << error;
    return made;
  }
  // Runs `holds` in a process of its own and returns its exit status.
  static int in_child(const std::function<bool()>& holds) {
    const pid_t child = fork();
    if (child == 0) _exit(holds() ? 0 : 1);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    return WEXITSTATUS(status);
  }
  // Writes to every page of it: a page that is not reserved is a SIGBUS where there is no room.
  static bool can_be_written(SegmentFile& file, std::uint64_t end) {
    for (std::uint64_t at = 0; at < end; at += kPage) {
      if (file.base()[at] != 0) return false;
      file.base()[at] = 1;
    }
    return true;
  }
  static std::uint64_t bytes_on_disk(const SegmentFile& file) {
    struct stat info {};
    return stat(file.path().c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_blocks) * 512 : 0;
  }

  std::string folder_;
};

TEST_F(SegmentFileTest, TakesNoMemoryUntilItIsReserved) {
  auto made = file();
  EXPECT_EQ(bytes_on_disk(*made), 0u);
  std::unique_ptr<SegmentReader> reader;
  std::string error;
  EXPECT_EQ(SegmentReader::open(made->path(), &reader, &error), SegmentReader::Outcome::kNotReady);
  EXPECT_EQ(bytes_on_disk(*made), 0u) << "to look at it takes none either";
  ASSERT_TRUE(made->reserve(kMegabyte));
  EXPECT_GE(bytes_on_disk(*made), kMegabyte);
  EXPECT_TRUE(can_be_written(*made, kMegabyte));
}

TEST_F(SegmentFileTest, KeepsNoDescriptor) {
  const int next = dup(0);
  close(next);
  auto made = file();
  EXPECT_EQ(dup(0), next);
  close(next);
}

// A daemon calls os.closerange(3, …), and its own files then get the numbers that were ours.
TEST_F(SegmentFileTest, GrowsWhenTheJobHasClosedEverything) {
  const std::string path = folder_ + "/log";
  std::uint64_t counted = 0;
  EXPECT_EQ(in_child([&] {
              std::string error;
              std::unique_ptr<SegmentWriter> writer(SegmentWriter::create({.directory = folder_}, &error));
              for (int fd = 3; fd < 256; ++fd) close(fd);
              for (int fd = 3; fd < 8; ++fd)
                if (open(path.c_str(), O_RDWR | O_CREAT, 0600) < 0) return false;
              Lane* lane = writer->acquire_lane(1);
              for (std::uint32_t site = 1; site <= 5000; ++site) {
                Counter* counter = writer->new_counter(lane, site);
                if (counter == nullptr) return false;
                counter->casts.store(1);
              }
              return writer->acquire_lane(2)->ring_capacity == kDefaultRingEvents;
            }),
            0);
  EXPECT_EQ(std::filesystem::file_size(path), 0u);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    std::unique_ptr<SegmentReader> reader;
    std::string error;
    if (entry.path().extension() != ".lanes") continue;
    ASSERT_EQ(SegmentReader::open(entry.path(), &reader, &error), SegmentReader::Outcome::kOpen) << error;
    for (const CounterValues& values : reader->counters(0)) counted += values.casts;
  }
  EXPECT_EQ(counted, 5000u);
}

TEST_F(SegmentFileTest, GrowsWithoutDescriptorsRightsOrPath) {
  auto made = file();
  EXPECT_EQ(in_child([&] {
              const rlimit none{0, 0};
              setrlimit(RLIMIT_NOFILE, &none);
              setrlimit(RLIMIT_FSIZE, &none);
              made->remove();
              return made->reserve(3 * kMegabyte) && can_be_written(*made, 3 * kMegabyte);
            }),
            0);
}

TEST_F(SegmentFileTest, TheLimitOnFileSizesIsItsOwn) {
  EXPECT_EQ(in_child([&] {
              const rlimit limit{kMegabyte + 100, kMegabyte + 100};
              setrlimit(RLIMIT_FSIZE, &limit);
              auto made = file();
              return made->max_bytes() == kMegabyte && made->reserve(kMegabyte) && !made->reserve(kMegabyte + 1);
            }),
            0);
}

// A small /dev/shm: memory that cannot be had as a whole is not taken in part.
TEST_F(SegmentFileTest, NoRoomIsAnErrorAndGivesBackWhatItTook) {
  const int status = in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", folder_.c_str(), "tmpfs", 0, "size=1m") != 0)
      _exit(kSkipped);
    auto made = file();
    const bool refused = !made->reserve(2 * kMegabyte) && errno == ENOSPC && bytes_on_disk(*made) == 0;
    return refused && made->reserve(kMegabyte / 2) && can_be_written(*made, kMegabyte / 2) &&
           !made->reserve(2 * kMegabyte) && bytes_on_disk(*made) == kMegabyte / 2 && made->base()[0] == 1 &&
           made->reserve(kMegabyte) && can_be_written(*made, 0) && made->free_bytes() == 0;
  });
  if (status == kSkipped) GTEST_SKIP() << "needs the right to mount";
  EXPECT_EQ(status, 0);
}

TEST(DescriptorTest, IsNeverOneOfTheStandardOnes) {
  for (const int closed : {0, 1, 2, 7}) {
    const pid_t child = fork();
    if (child == 0) {
      for (int fd = 0; fd < 3; ++fd)
        if (closed == 7 || fd == closed) close(fd);
      const int opened = castscope_open("/proc/self/stat", O_RDONLY);
      bool as_before = opened > 2 && (fcntl(opened, F_GETFD) & FD_CLOEXEC) != 0;
      for (int fd = 0; fd < 3; ++fd) as_before = as_before && (fcntl(fd, F_GETFD) < 0) == (closed == 7 || fd == closed);
      _exit(as_before ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << closed;
  }
}

}  // namespace
}  // namespace castscope::lanes
