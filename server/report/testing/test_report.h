// For tests of reports: records what a process does, and reads it back as a report does.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "server/store/read/run_reader.h"
#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope::report {

class RecordedTest : public ::testing::Test {
 protected:
  RecordedTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-recorded-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~RecordedTest() override { std::filesystem::remove_all(folder_); }

  store::RunData recorded(const std::function<void(store::TestRun&)>& act) {
    const std::string path = (folder_ / "run.castscope").string();
    store::RunStart start;
    start.cwd = "/home/user/project";
    auto store = store::RunStore::create(path, start, {.overwrite = true});
    EXPECT_TRUE(store.ok()) << store.status().message();
    store::TestRun run(**store);
    act(run);
    run.end();
    EXPECT_TRUE((*store)->close().ok());
    auto data = store::read_run(path);
    EXPECT_TRUE(data.ok()) << data.status().message();
    return *std::move(data);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace castscope::report
