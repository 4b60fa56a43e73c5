// For tests of the viewer: a recorded run, and a way to request what the API serves.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "server/store/testing/run_store_test.h"
#include "server/web/api/routes.h"
#include "server/web/runs/file_run.h"

namespace castscope::web {

using ::testing::HasSubstr;

class RoutesTest : public store::RunStoreTest {
 protected:
  // Records frozen weights that are cast twice in a region (weight-cast-repeatedly), an input, a hit and a mark, in two
  // steps.
  void record() {
    auto store = create();
    store::TestRun run(*store);
    record_events(run);
    run.end();
    (void)store->finish({.end_ns = start().start_ns + 2'000'000'000, .exit_status = 0, .signal = {}, .complete = true});
    EXPECT_TRUE(store->close().ok());
  }
  static void record_events(store::TestRun& run) {
    const auto region = run.region("train.py", 10);
    const auto weight = run.weight("train.py", 11, "head", lanes::WhyNotCached::kNoRequiresGrad);
    const auto input = run.input("train.py", 12, "encoder.0");
    run.enter(region).cast(weight, 0x100).cast(weight, 0x100).cast(input, 0x200, true, 4096).hit(input, 0x200);
    run.pass(weight, 3).exit().step().enter(region).cast(input, 0x300).exit().step();
  }
  void show() { runs_.put(std::make_shared<FileRun>("run", path(), FileRunOptions())); }

  Response ask(const std::string& path, const std::string& query = "") {
    return answer_api(runs_, {.method = "GET", .path = "/api/v2/" + path, .query = query, .host = "localhost"});
  }
  Json json(const std::string& path, const std::string& query = "") {
    const Response response = ask(path, query);
    EXPECT_EQ(response.status, 200) << path << "?" << query << ": " << response.body;
    return Json::parse(response.body, nullptr, false);
  }
  std::string trouble(const std::string& path, const std::string& query, int status) {
    const Response response = ask(path, query);
    EXPECT_EQ(response.status, status) << path << "?" << query << ": " << response.body;
    const Json told = Json::parse(response.body, nullptr, false);
    EXPECT_EQ(response.type, "application/problem+json");
    EXPECT_EQ(told["type"], "about:blank");
    EXPECT_EQ(told["status"], status);
    EXPECT_NE(told["title"], "");
    return told["detail"].get<std::string>();
  }
  // Waits until all events of the file are in memory.
  Json loaded() {
    Json run = json("runs/run");
    while (run["run_state"] == "loading") run = json("runs/run");
    return run;
  }
  // "window_begin_ns=…&window_end_ns=…" for the whole run.
  std::string window() {
    const Json run = json("runs/run");
    return "window_begin_ns=" + std::to_string(run["events_begin_ns"].get<std::int64_t>()) +
           "&window_end_ns=" + std::to_string(run["events_end_ns"].get<std::int64_t>() + 1);
  }
  int track(const Json& run, const std::string& kind) {
    for (const Json& one : run["tracks"]) {
      if (one["track_kind"] == kind) return one["track"];
    }
    ADD_FAILURE() << "no track of " << kind;
    return 0;
  }

  std::int64_t first_cast(const Json& run) {
    const std::string casts = "track=" + std::to_string(track(run, "casts"));
    return json("runs/run/neighbour", casts + "&at_ns=-1&direction=next")["event"]["begin_ns"];
  }

  Runs runs_;
};

}  // namespace castscope::web
