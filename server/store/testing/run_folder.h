// For tests that judge runs while they are written: a folder with run files, and a job that a rule finds something in.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope::store {

// A temporary folder, which is deleted at the end.
class RunFolder {
 public:
  RunFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-runs-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~RunFolder() { std::filesystem::remove_all(folder_); }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  // Begins NAME.castscope, the run of a job in /home/user/project.
  std::shared_ptr<RunStore> begin_run(const std::string& name = "run") const {
    RunStart start;
    start.cwd = "/home/user/project";
    auto store = RunStore::create((folder_ / (name + ".castscope")).string(), start);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return *std::move(store);
  }

 private:
  std::filesystem::path folder_;
};

// Enters a region at this line and casts a frozen weight twice at the next line, which weight-cast-repeatedly finds.
inline void cast_twice(TestRun& run, int line) {
  run.enter(run.region("train.py", line));
  const auto weight = run.weight("train.py", line + 1, "head", lanes::WhyNotCached::kNoRequiresGrad);
  run.cast(weight, 0x100).cast(weight, 0x100).exit().flush();
}

}  // namespace castscope::store
