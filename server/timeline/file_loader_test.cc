#include "server/timeline/file_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <random>

#include "server/store/read/run_reader.h"
#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope::timeline {
namespace {

using store::RunStore;
using store::TestRun;

// The run begins a second before the process that TestRun makes.
constexpr std::int64_t kStart = 1'795'000'000'000'000'000;

class FileLoaderTest : public ::testing::Test {
 protected:
  FileLoaderTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-timeline-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~FileLoaderTest() override { std::filesystem::remove_all(folder_); }

  void begin(store::StoreOptions options = {}) {
    auto store = RunStore::create(
        path(),
        {.run_id = "run-1", .command = {}, .cwd = "/job", .host = "host", .castscope_version = "0", .start_ns = kStart},
        options);
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = *std::move(store);
    run_ = std::make_unique<TestRun>(*store_);
    region_ = run_->region("train.py", 5);
    weight_ = run_->weight("train.py", 8, "fc");
  }
  std::string path() const { return (folder_ / "run.castscope").string(); }
  absl::Status loaded(std::function<absl::Status(double)> progress = [](double) { return absl::OkStatus(); }) {
    const auto run = store::read_as_it_is(path());
    EXPECT_TRUE(run.ok()) << run.status().message();
    return load(path(), *run, timeline_, progress);
  }
  void end() {
    run_->end();
    ASSERT_TRUE(store_->close().ok());
  }
  std::uint64_t count(ShadeKind kind) const {
    for (const KindSum& sum : timeline_.summary({.from = 0, .to = kLatestTime}).kinds) {
      if (sum.kind == kind) return sum.count;
    }
    return 0;
  }

  std::filesystem::path folder_;
  std::unique_ptr<RunStore> store_;
  std::unique_ptr<TestRun> run_;
  std::uint32_t region_ = 0, weight_ = 0;
  Timeline timeline_;
};

TEST_F(FileLoaderTest, TellsTheTimelineWhatTheFileKept) {
  begin();
  run_->step().enter(region_).cast(weight_, 1, true).hit(weight_, 1).flush().hit(weight_, 1).exit();
  end();
  std::vector<double> progress;
  const absl::Status status = loaded([&](double share) {
    progress.push_back(share);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(count(ShadeKind::kHit), 2u);
  EXPECT_EQ(count(ShadeKind::kDown), 1u);
  EXPECT_EQ(count(ShadeKind::kRegion), 1u);
  EXPECT_EQ(count(ShadeKind::kClear), 1u);
  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
  EXPECT_EQ(progress.back(), 1);
  EXPECT_GE(timeline_.progress().begin, 1'000'000'000);
}

TEST_F(FileLoaderTest, KernelsAreToldByWhatTheyWereLaunchedFor) {
  begin();
  const auto use = run_->use({.op = "aten::linear", .line = 8});
  const auto cast = run_->kernel({.name = "copy", .use = use, .site = weight_});
  const auto matmul = run_->kernel({.name = "gemm", .use = use});
  const auto set = run_->kernel({.name = "Memset", .work = lanes::GpuWork::kSet});
  run_->lane(2)
      .launched_with_event(cast, 100)
      .launched_with_event(matmul, 200)
      .launched_with_event(matmul, 200)
      .launched_with_event(set, 50);
  end();
  ASSERT_TRUE(loaded().ok());
  EXPECT_EQ(count(ShadeKind::kCastKernel), 1u);
  EXPECT_EQ(count(ShadeKind::kKernel), 2u);
  EXPECT_EQ(count(ShadeKind::kGpuCopy), 1u);
  const auto first = timeline_.neighbour({.at = 0});
  EXPECT_EQ(first->shade.kind, ShadeKind::kCastKernel);
  EXPECT_EQ(first->shade.cause, lanes::Cause::kAutocast);
  EXPECT_EQ(first->stream, 7u);
}

// A lane with few events is written last.
TEST_F(FileLoaderTest, StepsAreInTheirPlaceWhicheverLaneTookThem) {
  begin();
  for (int i = 0; i < 4; ++i) {
    run_->lane(1).step().enter(region_).cast(weight_, 1, true).exit();
    if (i == 1) run_->lane(2).step().cast(weight_, 1);
  }
  end();
  ASSERT_TRUE(loaded().ok());
  const std::vector<Track> tracks = timeline_.tracks();
  const auto steps =
      std::find_if(tracks.begin(), tracks.end(), [](const Track& track) { return track.kind == TrackKind::kSteps; });
  ASSERT_NE(steps, tracks.end());
  std::vector<std::uint32_t> numbers;
  NeighbourQuery query{.at = -1, .filter = {.tracks = {steps->id}}};
  while (const auto found = timeline_.neighbour(query)) {
    numbers.push_back(found->subject);
    query.at = found->begin;
  }
  EXPECT_THAT(numbers, ::testing::ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(FileLoaderTest, WhereBlocksAreNotKeptNothingStaysOpen) {
  begin({.keep_all = false, .first_window_bytes = 1, .newest_window_bytes = 1});
  run_->enter(region_).flush();
  for (int i = 0; i < 9; ++i) run_->cast(weight_, 1).flush();
  end();
  EXPECT_TRUE(loaded().ok());
  EXPECT_EQ(count(ShadeKind::kRegion), 0u);  // it began and ended at the only time that is known of it
  EXPECT_EQ(count(ShadeKind::kDown), 1u);
}

TEST_F(FileLoaderTest, StopsWhereItIsToldTo) {
  begin();
  for (int i = 0; i < 3; ++i) run_->cast(weight_, 1).flush();
  end();
  const absl::Status status = loaded([](double) { return absl::CancelledError("enough"); });
  EXPECT_TRUE(absl::IsCancelled(status));
}

TEST_F(FileLoaderTest, OfADamagedFileWhatCanBeRead) {
  begin();
  std::mt19937_64 noise(1);  // that does not compress
  for (std::uint32_t lane = 1; lane <= 40; ++lane) {
    run_->lane(lane);
    for (int i = 0; i < 2000; ++i) run_->cast(weight_, noise(), false, 10, static_cast<std::uint32_t>(noise()));
  }
  end();
  const auto size = std::filesystem::file_size(path());
  std::uint64_t most = 0;
  bool lost = false;
  for (const int percent : {95, 80, 60}) {
    std::filesystem::resize_file(path(), size * static_cast<std::uintmax_t>(percent) / 100);
    const auto run = store::read_as_it_is(path());
    if (!run.ok()) continue;  // some cannot be read at all
    Timeline timeline;
    const absl::Status status = load(path(), *run, timeline, [](double) { return absl::OkStatus(); });
    lost = lost || absl::IsDataLoss(status);
    most = std::max(most, timeline.progress().events);
  }
  EXPECT_TRUE(lost);
  EXPECT_GT(most, 0u);
  EXPECT_LT(most, 80'000u);
}

}  // namespace
}  // namespace castscope::timeline
