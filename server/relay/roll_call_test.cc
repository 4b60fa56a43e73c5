#include "server/relay/roll_call.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "absl/strings/str_split.h"

namespace castscope::relay {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

class RollCallTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "roll-call-" + std::to_string(getpid());
    fs::create_directory(directory_);
    roll_ = Roll::make();
    ASSERT_NE(roll_, nullptr);
    roll_call_.emplace(
        directory_, nullptr, roll_, "host", "", seconds(30),
        RollCall::Listeners{.say = [this](const std::string& sentence) { said_.push_back(sentence); },
                            .keep_missing = [this](const auto& sentences) { kept_.push_back(sentences); }});
  }
  void TearDown() override {
    munmap(job_, sizeof(castscope_roll));
    fs::remove_all(directory_);
  }
  // The roll as a process of the job maps it.
  castscope_roll& job() {
    if (job_ != nullptr) return *job_;
    const std::vector<std::string> words = absl::StrSplit(roll_->variable(directory_).substr(15), ':');
    const int fd = open(("/proc/" + words[0] + "/fd/" + words[1]).c_str(), O_RDWR | O_CLOEXEC);
    void* memory = mmap(nullptr, sizeof(castscope_roll), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return *(job_ = static_cast<castscope_roll*>(memory));
  }
  void call(std::uint32_t kind, std::int32_t pid, std::uint64_t start_ticks = 9) {
    castscope_call& slot = job().calls[job().next++ % CASTSCOPE_ROLL_CALLS];
    slot = {.state = CASTSCOPE_CALL_FILLED, .kind = kind, .pid = pid, .segment = 0, .start_ticks = start_ticks};
  }
  void tell(std::uint32_t kind) {
    castscope_outside told{.magic = CASTSCOPE_OUTSIDE_MAGIC, .kind = kind, .secret = "", .run_directory = ""};
    std::snprintf(told.run_directory, sizeof told.run_directory, "%s", directory_.c_str());
    sockaddr_un address{};
    const socklen_t length = castscope_outside_address(&address, directory_.c_str());
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    EXPECT_GT(sendto(fd, &told, sizeof told, 0, reinterpret_cast<const sockaddr*>(&address), length), 0);
    close(fd);
  }
  void look(int at_seconds) { roll_call_->look(RollCall::Clock::time_point(seconds(at_seconds))); }

  std::string directory_;
  std::shared_ptr<Roll> roll_;
  castscope_roll* job_ = nullptr;
  std::vector<std::string> said_;
  std::vector<std::vector<std::string>> kept_;
  std::optional<RollCall> roll_call_;
};

TEST_F(RollCallTest, NothingIsMissingWhereEachSegmentWasFound) {
  call(CASTSCOPE_CALL_SEGMENT, 7);
  look(0);
  roll_call_->found("7-0.lanes");
  roll_call_->found("8-0.lanes");  // called nothing, as under a bare LD_PRELOAD
  EXPECT_THAT(roll_call_->end(), IsEmpty());
}

TEST_F(RollCallTest, WhatIsNotRecordedIsKeptAsSoonAsItIsKnownAndOnce) {
  look(0);
  EXPECT_THAT(kept_, IsEmpty());
  call(CASTSCOPE_CALL_UNRECORDED, 7);
  look(1);
  look(2);
  EXPECT_THAT(kept_, ElementsAre(ElementsAre(StartsWith("process 7 has PyTorch and could not be recorded"))));
  tell(CASTSCOPE_OUTSIDE_NOT_THERE);
  look(3);
  ASSERT_THAT(kept_, SizeIs(2));
  EXPECT_THAT(kept_.back(), ElementsAre(StartsWith("process 7 "), HasSubstr("has other file systems")));
  call(CASTSCOPE_CALL_UNRECORDED, 8);
  const std::vector<Missing> all = roll_call_->end();
  ASSERT_THAT(kept_, SizeIs(3));
  ASSERT_THAT(all, SizeIs(3));
  for (std::size_t i = 0; i < all.size(); i++) EXPECT_EQ(all[i].sentence, kept_.back()[i]);
}

TEST_F(RollCallTest, ASegmentThatWasNeverFoundIsNamed) {
  call(CASTSCOPE_CALL_SEGMENT, 7);
  call(CASTSCOPE_CALL_SEGMENT, 8);
  roll_call_->found("8-0.lanes");
  const std::vector<Missing> missing = roll_call_->end();
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_EQ(missing[0].kind, Missing::Kind::kProcess);
  EXPECT_EQ(missing[0].process, "host/7/9/0");
  EXPECT_THAT(missing[0].sentence, StartsWith("process 7 has cast, and its record 7-0.lanes was not found"));
}

TEST_F(RollCallTest, ALaterProcessOfThatPidIsAnotherOne) {
  call(CASTSCOPE_CALL_SEGMENT, 7, 9);
  roll_call_->found("7-0.lanes");
  look(0);
  call(CASTSCOPE_CALL_SEGMENT, 7, 10);
  const std::vector<Missing> missing = roll_call_->end();
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_EQ(missing[0].process, "host/7/10/0");
}

TEST_F(RollCallTest, AProcessThatIsNotRecordedIsNamedOnce) {
  call(CASTSCOPE_CALL_UNRECORDED, 7, 0);
  call(CASTSCOPE_CALL_UNRECORDED, 7, 0);
  const std::vector<Missing> missing = roll_call_->end();
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_EQ(missing[0].kind, Missing::Kind::kUnrecorded);
  EXPECT_EQ(missing[0].process, "");
  EXPECT_THAT(missing[0].sentence, StartsWith("process 7 has PyTorch and could not be recorded"));
}

TEST_F(RollCallTest, TheDirectoryIsLookedAtEachHalfMinute) {
  look(0);
  fs::remove_all(directory_);
  look(29);
  EXPECT_THAT(said_, IsEmpty());
  look(30);
  EXPECT_THAT(said_, ElementsAre(HasSubstr(directory_ + " was removed or replaced")));
  look(60);
  EXPECT_THAT(said_, SizeIs(1));
  const std::vector<Missing> missing = roll_call_->end();
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_EQ(missing[0].kind, Missing::Kind::kRunDirectory);
}

TEST_F(RollCallTest, AnotherDirectoryOfThatNameIsNotTheOneThatWasMade) {
  look(0);
  fs::remove_all(directory_);
  fs::create_directory(directory_);
  ASSERT_THAT(roll_call_->end(), SizeIs(1));
}

TEST_F(RollCallTest, ThatItWasAwayIsKnownAlsoWhenItIsBack) {
  look(0);
  fs::rename(directory_, directory_ + "-away");
  look(31);
  fs::rename(directory_ + "-away", directory_);
  ASSERT_THAT(roll_call_->end(), SizeIs(1));
}

TEST_F(RollCallTest, AProcessThatCannotBeRecordedIsAReasonToLookAtOnce) {
  look(0);
  fs::remove_all(directory_);
  call(CASTSCOPE_CALL_UNRECORDED, 7, 0);
  look(1);
  EXPECT_THAT(said_, SizeIs(1));
}

TEST_F(RollCallTest, CallsWithoutRoomAreCounted) {
  job().lost = 2;
  const std::vector<Missing> missing = roll_call_->end();
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_THAT(missing[0].sentence, StartsWith("2 times a process could not tell"));
}

TEST_F(RollCallTest, SlotsAreUsedAgain) {
  for (int pid = 1; pid <= 3 * CASTSCOPE_ROLL_CALLS; pid++) {
    EXPECT_EQ(job().calls[job().next % CASTSCOPE_ROLL_CALLS].state, CASTSCOPE_CALL_FREE);
    call(CASTSCOPE_CALL_SEGMENT, pid);
    if (pid % 100 == 0) look(pid);
  }
  EXPECT_THAT(roll_call_->end(), SizeIs(3 * CASTSCOPE_ROLL_CALLS));
}

TEST_F(RollCallTest, AProcessThatDoesNotReachTheRunIsNamedOnceAndWhatToDo) {
  tell(CASTSCOPE_OUTSIDE_NOT_PERMITTED);
  look(0);
  tell(CASTSCOPE_OUTSIDE_NOT_PERMITTED);
  tell(CASTSCOPE_OUTSIDE_NOT_THERE);
  const std::vector<Missing> missing = roll_call_->end();
  ASSERT_THAT(missing, SizeIs(2));
  EXPECT_EQ(missing[0].kind, Missing::Kind::kUnrecorded);
  EXPECT_EQ(missing[0].sentence,
            "process " + std::to_string(getpid()) + " has PyTorch and is not recorded, since it has other file " +
                "systems, without " + directory_ + ": start castscope in there, before the command");
  EXPECT_THAT(missing[1].sentence, HasSubstr("runs as user " + std::to_string(getuid()) + ", and " + directory_ +
                                             " belongs to another user or is open"));
  EXPECT_THAT(said_, UnorderedElementsAre(missing[0].sentence, missing[1].sentence));
}

TEST_F(RollCallTest, TheRollIsClosedAtTheEnd) {
  EXPECT_EQ(job().closed, 0u);
  (void)roll_call_->end();
  EXPECT_EQ(job().closed, 1u);
}

TEST_F(RollCallTest, SentencesComeBackWhole) {
  EXPECT_FALSE(roll_->has_torch());
  job().with_torch = 1;
  EXPECT_TRUE(roll_->has_torch());
  std::snprintf(job().sentences[2], CASTSCOPE_ROLL_SENTENCE_BYTES, "!it is so");
  job().sentences[4][0] = '!';
  EXPECT_THAT(roll_->sentences(), ElementsAre("it is so", ""));
}

class BareRollTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "bare-roll-" + std::to_string(getpid());
    fs::create_directory(directory_);
    told_->magic = CASTSCOPE_ROLL_MAGIC;
    told_->calls[3] = {
        .state = CASTSCOPE_CALL_FILLED, .kind = CASTSCOPE_CALL_SEGMENT, .pid = 7, .segment = 0, .start_ticks = 9};
    write(sizeof(castscope_roll));
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::string path() const { return directory_ + "/" CASTSCOPE_BARE_ROLL; }
  void write(std::size_t bytes) {
    std::ofstream(path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(told_.get()), static_cast<std::streamsize>(bytes));
  }

  std::string directory_;
  const std::unique_ptr<castscope_roll> told_ = std::make_unique<castscope_roll>();
};

TEST_F(BareRollTest, WhatProcessesOfABareRunCalledIsMissed) {
  RollCall roll_call(directory_, nullptr, Roll::of_bare_run(directory_), "host", "", seconds(30), {});
  const std::vector<Missing> missing = roll_call.end();
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_THAT(missing[0].sentence, StartsWith("process 7 has cast, and its record 7-0.lanes was not found"));
}

TEST_F(BareRollTest, AFileThatIsNoRollIsNotTaken) {
  write(sizeof(castscope_roll) - 1);
  EXPECT_EQ(Roll::of_bare_run(directory_), nullptr);
  told_->magic = 1;
  write(sizeof(castscope_roll));
  EXPECT_EQ(Roll::of_bare_run(directory_), nullptr);
  fs::remove(path());
  EXPECT_EQ(Roll::of_bare_run(directory_), nullptr);
}

TEST_F(BareRollTest, AFileThatIsShortenedMeanwhileIsNotTouched) {
  const std::unique_ptr<Roll> roll = Roll::of_bare_run(directory_);
  ASSERT_NE(roll, nullptr);
  fs::resize_file(path(), 0);
  EXPECT_THAT(roll->take(), IsEmpty());
  EXPECT_THAT(roll->sentences(), IsEmpty());
  EXPECT_EQ(roll->lost(), 0u);
  roll->run_is_over();
}

// A process that shortens the memory would make the relay, and others, die of SIGBUS.
TEST_F(RollCallTest, NoProcessCanShortenIt) {
  const std::vector<std::string> words = absl::StrSplit(roll_->variable(directory_).substr(15), ':');
  const int fd = open(("/proc/" + words[0] + "/fd/" + words[1]).c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_NE(ftruncate(fd, 0), 0);
  close(fd);
}

}  // namespace
}  // namespace castscope::relay
