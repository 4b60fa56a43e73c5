#include "server/cli/job/run_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "agent/preload/unfiled.h"
#include "server/cli/job/proc.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = RunDirectory::create();
    ASSERT_TRUE(made.ok()) << made.status();
    directory_ = *made;
  }
  void TearDown() override { directory_.discard(); }
  void touch(const std::string& name, const std::string& text = "") {
    std::ofstream(directory_.path() + "/" + name) << text;
  }
  // Returns a pid that belongs to nobody: its process has been reaped.
  static pid_t dead() {
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    waitpid(pid, nullptr, 0);
    return pid;
  }
  // Makes this process look like one with an agent.
  class MappedAgent {
   public:
    MappedAgent() : folder_(::testing::TempDir() + "mapped-" + std::to_string(getpid())) {
      fs::create_directory(folder_);
      const std::string path = folder_ + "/castscope_agent-0.so";
      std::ofstream(path) << "agent";
      int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      page_ = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
      close(fd);
      EXPECT_NE(page_, MAP_FAILED);
    }
    ~MappedAgent() {
      munmap(page_, 4096);
      fs::remove(folder_ + "/castscope_agent-0.so");
      fs::remove(folder_);
    }

   private:
    const std::string folder_;
    void* page_;
  };
  RunDirectory directory_{""};
};

TEST_F(RunDirectoryTest, IsClosedToOthers) {
  struct stat info;
  ASSERT_EQ(stat(directory_.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_FALSE(directory_.is_bare());
}
TEST_F(RunDirectoryTest, RecordComesBack) {
  RunRecord record{{"python", "näch \xff.py"}, "/here", "/there/run",       12, getpid(),
                   start_ticks(getpid()),      true,    "SLURM_JOB_ID=4711"};
  ASSERT_TRUE(directory_.write_record(record).ok());
  auto back = directory_.read_record();
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->command[0], "python");
  EXPECT_EQ(back->stem, "/there/run");
  EXPECT_TRUE(back->keep_all);
  EXPECT_EQ(back->job, "SLURM_JOB_ID=4711");
  EXPECT_TRUE(directory_.is_recorded());
}
TEST_F(RunDirectoryTest, WhatIsWithheldComesBack) {
  RunRecord record{.command = {}, .cwd = "/", .stem = "/x", .begin_realtime_ns = 1};
  record.redact = "a|\\bé\"", record.no_source = true;
  ASSERT_TRUE(directory_.write_record(record).ok());
  ASSERT_TRUE(directory_.read_record().has_value());
  EXPECT_EQ(directory_.read_record()->redact, record.redact);
  EXPECT_TRUE(directory_.read_record()->no_source);
}
TEST_F(RunDirectoryTest, ARecordOfAnOlderCastscopeNamesNoJob) {
  touch("run.json", R"({"command": ["sh"], "cwd": "/", "stem": "/x", "begin_realtime_ns": 1, "pid": 2, "pid_ticks": 3,
                        "keep_all": false})");
  ASSERT_TRUE(directory_.read_record().has_value());
  EXPECT_EQ(directory_.read_record()->job, "");
}
TEST_F(RunDirectoryTest, DamagedRecordIsNone) {
  for (const char* text : {"", "{", "[]", "{}", "{\"command\": 3}", "{\"command\": [], \"cwd\": null}"}) {
    touch("run.json", text);
    EXPECT_FALSE(directory_.read_record().has_value()) << text;
  }
}
TEST_F(RunDirectoryTest, RecorderThatIsGoneDoesNotRecord) {
  ASSERT_TRUE(directory_.write_record({{}, "", "", 0, dead(), 1, false}).ok());
  EXPECT_FALSE(directory_.is_recorded());
}
TEST_F(RunDirectoryTest, PidOfAnotherProcessIsNotTheRecorder) {
  ASSERT_TRUE(directory_.write_record({{}, "", "", 0, getpid(), start_ticks(getpid()) + 1, false}).ok());
  EXPECT_FALSE(directory_.is_recorded());
}
TEST_F(RunDirectoryTest, LivingAndDeadProcesses) {
  EXPECT_FALSE(directory_.has_living_process());
  touch(std::to_string(dead()) + ".attached");
  touch(std::to_string(dead()) + "-0.lanes");
  EXPECT_FALSE(directory_.has_living_process());
  touch(std::to_string(getpid()) + "-0.lanes");
  touch(std::to_string(getpid()) + ".attached");
  EXPECT_FALSE(directory_.has_living_process()) << "we are what exec put in the place of an attached process";
  MappedAgent agent;
  EXPECT_EQ(directory_.living_processes(), std::vector<pid_t>{getpid()});
  touch(std::to_string(getpid()) + ".leaving");
  EXPECT_FALSE(directory_.has_living_process()) << "it only waits for whoever looks here";
}
TEST_F(RunDirectoryTest, ProcessYoungerThanItsFileIsAnother) {
  std::string name = std::to_string(getpid()) + ".attached";
  touch(name);
  MappedAgent agent;
  fs::last_write_time(directory_.path() + "/" + name, fs::file_time_type::clock::now() - std::chrono::hours(24 * 365));
  EXPECT_FALSE(directory_.has_living_process());
}
TEST_F(RunDirectoryTest, WhatWasSaid) {
  touch("said-1", "first");
  touch("said-2", "second");
  EXPECT_EQ(directory_.said(), (std::vector<std::string>{"first", "second"}));
}
TEST_F(RunDirectoryTest, WhatWasNotRecorded) {
  touch("said-1", "no relay can be started");
  EXPECT_TRUE(directory_.unrecorded().empty());
  touch("said-2", "no room in /dev/shm; this process is not recorded");
  EXPECT_FALSE(directory_.unrecorded().empty());
  fs::remove(directory_.path() + "/said-2");
  touch("said-3");  // there was no room for the sentence
  EXPECT_FALSE(directory_.unrecorded().empty());
}
TEST_F(RunDirectoryTest, WhatCouldNotBeAFileIsReadToo) {
  std::string page(CASTSCOPE_UNFILED_SLOTS * CASTSCOPE_UNFILED_SLOT_BYTES, '\0');
  touch(CASTSCOPE_UNFILED, page);
  EXPECT_TRUE(directory_.said().empty());
  EXPECT_TRUE(directory_.unrecorded().empty());
  const std::string first = "!cannot make 7-0.lanes; this process is not recorded";
  page.replace(0, first.size(), first);
  page.replace(CASTSCOPE_UNFILED_SLOT_BYTES, 5, "!more");
  touch(CASTSCOPE_UNFILED, page);
  EXPECT_EQ(directory_.said(), (std::vector<std::string>{first.substr(1), "more"}));
  EXPECT_FALSE(directory_.unrecorded().empty());
  page.assign(page.size(), '\0');
  page[0] = '!';  // the writer was killed meanwhile
  touch(CASTSCOPE_UNFILED, page);
  EXPECT_FALSE(directory_.unrecorded().empty());
}
TEST_F(RunDirectoryTest, AFileInWhichNothingIsYetIsNoSegment) {
  touch("1-0.lanes", std::string(8192, '\0'));
  EXPECT_FALSE(directory_.has_segments());
}
TEST_F(RunDirectoryTest, SegmentsAreNotRemovedByTheWay) {
  touch("1-0.lanes", "CASTLANE");
  directory_.discard_unless_segments();
  EXPECT_TRUE(directory_.has_segments());
  directory_.discard();
  EXPECT_FALSE(fs::exists(directory_.path()));
}
TEST_F(RunDirectoryTest, OnlyCastscopesFilesAreDeleted) {
  for (const char* name :
       {"run.json", "relay.lock", "roll", "said-0f", "1.attached", "1.unobserved", "1.replaced", "1.leaving",
        "1-2.lanes", "1.control", "control", "policy", "injected", "injected.py", "injected.gdb"})
    touch(name);
  fs::create_symlink("/nowhere", directory_.path() + "/libcastscope.so");
  const std::set<std::string> others = {"thesis.tex", "2026.csv", "x.lanes"};
  for (const std::string& name : others) touch(name);
  EXPECT_FALSE(directory_.discard());
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(directory_.path())) left.insert(entry.path().filename());
  EXPECT_EQ(left, others);
  for (const std::string& name : others) fs::remove(directory_.path() + "/" + name);
  EXPECT_TRUE(directory_.discard());
  EXPECT_FALSE(fs::exists(directory_.path()));
}
TEST_F(RunDirectoryTest, WhatItIsNot) {
  EXPECT_TRUE(directory_.check().ok()) << directory_.check();
  EXPECT_TRUE(RunDirectory(directory_.path() + "/").check().ok()) << "as a shell completes it";
  touch("thesis.tex");
  EXPECT_FALSE(directory_.check().ok());
  touch("run.json", "{}");
  EXPECT_TRUE(directory_.check().ok());
  chmod(directory_.path().c_str(), 0755);
  EXPECT_FALSE(directory_.check().ok());
  chmod(directory_.path().c_str(), 0700);

  const std::string link = directory_.path() + "/run-1-2-3";
  fs::create_directory_symlink(directory_.path(), link);
  EXPECT_FALSE(RunDirectory(link).check().ok());
  fs::remove(link);
  fs::remove(directory_.path() + "/thesis.tex");
  EXPECT_FALSE(RunDirectory(directory_.path() + "/run.json").check().ok());
  for (const char* path : {"", "/", "/tmp", "/nowhere/run-1-2-3"}) EXPECT_FALSE(RunDirectory(path).check().ok());
}

TEST(Proc, AThreadBelongsToAProcess) {
  EXPECT_EQ(process_of(getpid()), getpid());
  EXPECT_EQ(process_of(0x7ffffffe), 0);
  pid_t of_thread = 0;
  std::thread([&] { of_thread = gettid() != getpid() ? process_of(gettid()) : -1; }).join();
  EXPECT_EQ(of_thread, getpid());
}

TEST(Proc, OurselvesAndNobody) {
  EXPECT_GT(start_ticks(getpid()), 0u);
  EXPECT_GT(process_age(getpid()), -0.02);  // the kernel counts in hundredths
  EXPECT_LT(process_age(0x7ffffffe), 0);
  EXPECT_TRUE(is_alive(getpid(), start_ticks(getpid())));
  EXPECT_FALSE(is_alive(0x7ffffffe, 0));
  EXPECT_FALSE(command_line(getpid()).empty());
}

}  // namespace
}  // namespace castscope::cli
