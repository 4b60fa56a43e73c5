// For the tests of the run file: a folder of their own, a store in it, and ways to look into what it wrote.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "server/store/file/sqlite.h"
#include "server/store/read/run_reader.h"
#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope::store {

using ::testing::HasSubstr;

inline constexpr std::uint64_t kTensor = 0x7f0000001000;

class RunStoreTest : public ::testing::Test {
 protected:
  RunStoreTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-store-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~RunStoreTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name = "run.castscope") const { return (folder_ / name).string(); }
  std::unique_ptr<RunStore> create(StoreOptions options = {}) {
    auto store = RunStore::create(path(), start(), options);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return *std::move(store);
  }
  static RunStart start() {
    return {.run_id = "r1",
            .command = {"python", "train.py", "--lr=1e-3"},
            .cwd = "/home/user/project",
            .host = "host",
            .castscope_version = "0.1.0",
            .start_ns = 1'795'000'000'000'000'000};
  }
  RunData read() {
    auto data = read_run(path());
    EXPECT_TRUE(data.ok()) << data.status().message();
    return data.ok() ? *std::move(data) : RunData();
  }
  std::int64_t query(const char* sql) {
    auto database = Database::open(path(), SQLITE_OPEN_READWRITE);
    auto statement = Statement::prepare(*database, sql);
    EXPECT_TRUE(statement.ok()) << statement.status().message();
    EXPECT_TRUE(*statement->next()) << sql;
    return statement->number(0);
  }
  std::string trouble_with(const std::string& file) { return std::string(read_run(file).status().message()); }
  void write(const std::string& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

  std::filesystem::path folder_;
};

}  // namespace castscope::store
