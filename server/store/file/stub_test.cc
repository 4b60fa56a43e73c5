#include "server/store/file/stub.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "server/store/read/run_heading.h"
#include "server/store/testing/run_store_test.h"
#include "server/store/write/new_file.h"

namespace castscope::store {
namespace {

namespace fs = std::filesystem;

// As a collector, whose files nobody else may read.
class StubTest : public RunStoreTest {
 protected:
  StubTest() : mask_(umask(077)) {}
  ~StubTest() override { umask(mask_); }
  std::string run_id_in(const std::string& file) {
    const auto heading = read_heading(file);
    return heading.ok() ? heading->start.run_id : "";
  }
  // A file with tables and nothing in them, as a killed collector of an older version left it, and its log.
  void lay_out_without_run() {
    create()->close().IgnoreError();
    auto database = Database::open(path(), SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(database.ok() && database->exec("PRAGMA journal_mode = WAL; DELETE FROM run").ok());
    fs::copy_file(path(), path("copy"));
    fs::copy_file(path() + "-wal", path("copy-wal"));
    ASSERT_TRUE(database->close().ok());
    fs::rename(path("copy"), path());
    fs::rename(path("copy-wal"), path() + "-wal");
  }

 private:
  const mode_t mask_;
};

TEST_F(StubTest, TheFileSaysWhichRunItIsWhateverBecomesOfItsLog) {
  const auto store = create();
  ASSERT_TRUE(store->relay({.relay = "r", .acknowledged = 1}).ok() && store->commit().ok());
  fs::copy_file(path(), path("copy.castscope"));
  EXPECT_EQ(run_id_in(path("copy.castscope")), "r1");
}

TEST_F(StubTest, AFileWithNothingInItIsOne) {
  write(path(), "");
  EXPECT_TRUE(is_stub(path()));
  fs::remove(path());
  lay_out_without_run();
  EXPECT_TRUE(is_stub(path()));
}

TEST_F(StubTest, AFileWithARunIsNone) {
  create();
  EXPECT_FALSE(is_stub(path()));
  EXPECT_EQ(run_id_in(path()), "r1");
}

TEST_F(StubTest, AFileWhoseLogMayHaveHeldARunIsNone) {
  lay_out_without_run();
  fs::remove(path() + "-wal");
  EXPECT_FALSE(is_stub(path()));
  write(path("empty"), "");
  write(path("empty") + "-wal", "log");
  EXPECT_FALSE(is_stub(path("empty")));
  EXPECT_TRUE(fs::exists(path("empty") + "-wal"));
}

TEST_F(StubTest, WhatACollectorMakesOtherwiseIsNone) {
  write(path(), "something else");
  EXPECT_FALSE(is_stub(path()));
  write(path("readable"), "");
  ASSERT_EQ(chmod(path("readable").c_str(), 0644), 0);
  EXPECT_FALSE(is_stub(path("readable")));
  write(path("twice"), "");
  fs::create_hard_link(path("twice"), path("linked"));
  EXPECT_FALSE(is_stub(path("twice")));
  fs::create_symlink(path("nowhere"), path("link"));
  EXPECT_FALSE(is_stub(path("link")));
}

using Files = std::map<std::string, std::string>;  // what the files of a folder hold, by name

Files files_in(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    files[entry.path().filename()] = {std::istreambuf_iterator<char>(stream), {}};
  }
  return files;
}

// Begins a run in a process of its own. Returns what it would leave behind if it were killed before one of its system
// calls: each state of its folder, one after the other.
std::vector<Files> states_of_a_beginning(const std::string& file, const RunStart& start) {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    kill(getpid(), SIGSTOP);
    const auto store = RunStore::create(file, start);
    kill(getpid(), SIGKILL);
  }
  std::vector<Files> states;
  int status = 0;
  for (waitpid(child, &status, 0); WIFSTOPPED(status); waitpid(child, &status, 0)) {
    Files now = files_in(fs::path(file).parent_path());
    if (states.empty() || states.back() != now) states.push_back(std::move(now));
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  }
  return states;
}

TEST_F(StubTest, WhoeverIsKilledBeforeAnySystemCallLeavesARunOrAStub) {
  int runs = 0, stubs = 0;
  fs::create_directory(path("begun"));
  for (const Files& files : states_of_a_beginning(path("begun/run.castscope"), start())) {
    for (const auto& [name, bytes] : files) {
      write(path(name), bytes);
      ASSERT_EQ(chmod(path(name).c_str(), 0600), 0);
    }
    if (files.empty()) continue;
    if (is_stub(path())) {
      ++stubs;
    } else {
      ++runs;
      EXPECT_EQ(run_id_in(path()), "r1");
      const auto store = RunStore::resume(path());
      EXPECT_TRUE(store.ok()) << store.status().message();
    }
    remove_run_file(path());
  }
  EXPECT_GT(stubs, 2);
  EXPECT_GT(runs, 2);
}

}  // namespace
}  // namespace castscope::store
