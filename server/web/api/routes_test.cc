#include "server/web/api/routes_test.h"

#include <algorithm>
#include <fstream>
#include <set>

namespace castscope::web {
namespace {

TEST_F(RoutesTest, TheRunAndItsNumbers) {
  record();
  show();
  const Json run = loaded();
  EXPECT_EQ(run["run_state"], "finished");
  EXPECT_EQ(run["loaded"], 1.0);
  EXPECT_EQ(run["command"], Json({"python", "train.py", "--lr=1e-3"}));
  EXPECT_EQ(run["start"], "2026-11-18T11:06:40.000Z");
  EXPECT_EQ(run["end_ns"], 2'000'000'000);
  EXPECT_EQ(run["exit_status"], 0);
  EXPECT_EQ(run["totals"]["casts"], 4);
  EXPECT_EQ(run["totals"]["cache_hits"], 1);
  EXPECT_EQ(run["totals"]["pass_throughs"], 3);
  EXPECT_EQ(run["totals"]["step_count"], 2);
  EXPECT_EQ(run["processes"].size(), 1u);
  const Json list = json("runs")["runs"];
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["run_name"], "run");
  EXPECT_EQ(list[0]["run_state"], "finished");
  EXPECT_EQ(list[0]["start"], run["start"]);
  EXPECT_EQ(list[0]["event_count"], run["totals"]["event_count"]);
}

TEST_F(RoutesTest, DefinitionsAreToldOnce) {
  record();
  show();
  const Json all = json("runs/run/definitions");
  ASSERT_GE(all["sites"].size(), 2u);
  EXPECT_EQ(all["sites"][0]["label"], "linear weight, float32 to bfloat16");
  EXPECT_EQ(all["sites"][0]["file"], "train.py");
  EXPECT_EQ(all["sites"][0]["line"], 11);
  EXPECT_EQ(all["sites"][0]["module"], "head");
  EXPECT_EQ(all["regions"].size(), 1u);
  std::set<std::string> prints;
  for (const Json& site : all["sites"]) prints.insert(site["fingerprint"]);
  EXPECT_THAT(prints, ::testing::Each(::testing::MatchesRegex("[0-9a-f]+:1")));
  EXPECT_EQ(prints.size(), all["sites"].size());
  const Json rest = json("runs/run/definitions", "known_sites=1&known_regions=1");
  EXPECT_EQ(rest["sites"].size(), all["sites"].size() - 1);
  EXPECT_EQ(rest["sites"][0], all["sites"][1]);
  EXPECT_EQ(rest["regions"].size(), 0u);
}

TEST_F(RoutesTest, AnEventTellsItsSiteAndWhatItIs) {
  record();
  show();
  const Json run = loaded();
  const Json event = json("runs/run/event", "track=" + std::to_string(track(run, "casts")) +
                                                "&tolerance_ns=1&at_ns=" + std::to_string(first_cast(run)))["event"];
  EXPECT_EQ(event["subject"], 1);
  EXPECT_EQ(event["shade_kind"], "down");
}

TEST_F(RoutesTest, APictureInTheViewersForm) {
  record();
  show();
  loaded();
  const Response response = ask("runs/run/picture", window() + "&columns=100&with_counters=1");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.type, "application/octet-stream");
  ASSERT_GE(response.body.size(), 80u);
  EXPECT_EQ(response.body.substr(0, 4), "CSCP");
}

TEST_F(RoutesTest, TheDetailOfAnEventIsReadFromTheFile) {
  record();
  show();
  const Json run = loaded();
  const std::string casts = "track=" + std::to_string(track(run, "casts"));
  const Json first =
      json("runs/run/event", casts + "&tolerance_ns=1&at_ns=" + std::to_string(first_cast(run)))["event"];
  EXPECT_EQ(first["in_file"], true);
  EXPECT_EQ(first["event_bytes"], 1000);
  EXPECT_EQ(first["cache_use"], "not_kept");
  EXPECT_EQ(first["why_not_cached"], "no_requires_grad");
  const Json& stack = first["frames"];  // innermost first: torch's modules, then the line that called them
  EXPECT_TRUE(std::any_of(stack.begin(), stack.end(), [](const Json& frame) { return frame["line"] == 11; })) << stack;
  EXPECT_EQ(first["region"]["region"], 1);
  const Json kept = json("runs/run/neighbour", casts + "&at_ns=-1&direction=next&find=encoder")["event"];
  EXPECT_EQ(kept["cache_use"], "kept");
  EXPECT_EQ(kept["event_bytes"], 4096);
  EXPECT_EQ(json("runs/run/event", casts + "&at_ns=900000&tolerance_ns=0")["event"], nullptr);
}

TEST_F(RoutesTest, NeighboursByTrackKindAndSubject) {
  record();
  show();
  const Json run = loaded();
  const std::string casts = "track=" + std::to_string(track(run, "casts"));
  const Json first = json("runs/run/neighbour", casts + "&at_ns=-1&direction=next")["event"];
  const std::string at = std::to_string(first["begin_ns"].get<std::int64_t>());
  EXPECT_EQ(json("runs/run/neighbour", casts + "&at_ns=" + at + "&direction=previous")["event"], nullptr);
  const Json other = json("runs/run/neighbour", "track_kind=casts&subject=2&at_ns=" + at + "&direction=next")["event"];
  EXPECT_EQ(other["subject"], 2);
  EXPECT_EQ(json("runs/run/neighbour", "track_kind=operators&at_ns=-1&direction=next")["event"], nullptr);
}

TEST_F(RoutesTest, SearchCountsExactly) {
  record();
  show();
  loaded();
  const Json found = json("runs/run/find", "find=ENCODER");
  EXPECT_EQ(found["site_ids"], Json({2}));
  EXPECT_EQ(found["casts_and_cache_hits"], 3);  // two casts, a hit
  EXPECT_GT(found["first_event_ns"], 0);
  EXPECT_EQ(found["event_count"], 3);
  EXPECT_EQ(found["exact"], true);
  EXPECT_EQ(json("runs/run/find", "find=nowhere")["casts_and_cache_hits"], 0);
  EXPECT_EQ(json("runs/run/find", "find=nowhere")["event_count"], 0);
  EXPECT_EQ(json("runs/run/find", "find=nowhere")["first_event_ns"], nullptr);
}

TEST_F(RoutesTest, SearchKnowsTheShortNamesOfDtypes) {
  record();
  show();
  loaded();
  EXPECT_EQ(json("runs/run/find", "find=BF16")["site_ids"], json("runs/run/find", "find=bfloat16")["site_ids"]);
  EXPECT_EQ(json("runs/run/find", "find=fp32")["casts_and_cache_hits"], 5);
  EXPECT_EQ(json("runs/run/find", "find=fp64")["casts_and_cache_hits"], 0);
}

TEST_F(RoutesTest, WhatHasNoSitesCountsAsTheTimelineHasIt) {
  record();
  show();
  loaded();
  const Json found = json("runs/run/find", "find=kind:region");
  EXPECT_EQ(found["casts_and_cache_hits"], 0);
  EXPECT_EQ(found["event_count"], 2);  // regions
  EXPECT_EQ(found["by_shade_kind"][0]["shade_kind"], "region");
}

TEST_F(RoutesTest, ASummaryOfEverything) {
  record();
  show();
  loaded();
  const Json sums = json("runs/run/summary", window());
  EXPECT_EQ(sums["exact"], true);
  std::map<std::string, int> counts;
  for (const Json& kind : sums["by_shade_kind"]) counts[kind["shade_kind"]] = kind["event_count"];
  EXPECT_EQ(counts["down"], 4);
  EXPECT_EQ(counts["cache_hit"], 1);
  EXPECT_EQ(counts["region"], 2);
  const Json one = json("runs/run/summary", window() + "&find=head");
  EXPECT_EQ(one["by_subject"].size(), 1u);
  EXPECT_EQ(one["by_subject"][0]["subject"], 1);
  EXPECT_EQ(one["by_subject"][0]["event_count"], 2);
}

TEST_F(RoutesTest, FindingsLieAtTheirFirstEvent) {
  record();
  show();
  loaded();
  const Json told = json("runs/run/findings");
  ASSERT_FALSE(told["findings"].empty());
  const Json finding = told["findings"][0];
  EXPECT_EQ(finding["rule"], "weight-cast-repeatedly");
  EXPECT_EQ(finding["site_ids"], Json({1}));
  const Json first = json("runs/run/neighbour", "track_kind=casts&at_ns=-1&direction=next")["event"];
  EXPECT_EQ(finding["first_event_ns"], first["begin_ns"]);
  EXPECT_EQ(finding["track"], first["track"]);
}

TEST_F(RoutesTest, SitesModulesAndSteps) {
  record();
  show();
  const Json sites = json("runs/run/sites");
  EXPECT_EQ(sites["sites"][0]["casts"], 2);
  EXPECT_EQ(sites["sites"][0]["pass_throughs"], 3);
  EXPECT_EQ(sites["sites"][1]["cache_hits"], 1);
  EXPECT_EQ(sites["totals"]["casts"], 4);
  const Json models = json("runs/run/modules")["models"];
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0]["modules"][1]["module"], "head");
  EXPECT_EQ(models[0]["modules"][1]["casts_by_to_dtype"]["bfloat16"], 2);
  const Json steps = json("runs/run/steps")["processes"][0]["step_runs"];
  int casts = 0;
  for (const Json& step : steps) casts += step["casts"].get<int>();
  EXPECT_EQ(casts, 4);
}

TEST_F(RoutesTest, SourceShowsWhatTheRunNamesAndNothingElse) {
  record();
  show();
  const Json files = json("runs/run/source")["source_files"];
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0]["casts"], 4);
  const Json one = json("runs/run/source", "file=train.py");
  EXPECT_EQ(one["source_state"], "gone");
  EXPECT_TRUE(one["source_lines"].empty());
  EXPECT_EQ(one["casts_by_line"]["11"]["casts"], 2);
  EXPECT_EQ(one["rules_by_line"]["11"], Json({"weight-cast-repeatedly"}));
  EXPECT_THAT(trouble("runs/run/source", "file=/etc/passwd", 404), HasSubstr("names no such"));
}

TEST_F(RoutesTest, ReportsAreThoseOfTheCommand) {
  record();
  show();
  const Json report = json("runs/run/report");
  EXPECT_EQ(report["totals"]["casts"], 4);
  EXPECT_EQ(report["findings"].size(), json("runs/run/findings")["findings"].size());
  for (const char* format : {"json", "sarif", "html", "md", "csv", "perfetto", "chrome", "speedscope"})
    EXPECT_EQ(ask("runs/run/report", std::string("format=") + format).status, 200) << format;
  EXPECT_THAT(trouble("runs/run/report", "format=pdf", 400), HasSubstr("json sarif"));
}

TEST_F(RoutesTest, ARunComparedWithItselfIsTheSame) {
  record();
  show();
  EXPECT_TRUE(json("runs/run/compare", "with_run=run")["sites"].empty());
  EXPECT_THAT(trouble("runs/run/compare", "with_run=other", 404), HasSubstr("no such run"));
  EXPECT_THAT(trouble("runs/run/compare", "", 400), HasSubstr("with_run is missing"));
}

TEST_F(RoutesTest, WhatIsWrongIsASentence) {
  record();
  show();
  EXPECT_THAT(trouble("runs/none", "", 404), HasSubstr("no such run"));
  EXPECT_THAT(trouble("runs/run/nothing", "", 404), HasSubstr("no such route"));
  EXPECT_THAT(trouble("runs/run", "what=1", 400), HasSubstr("no parameter what"));
  const char* const picture = "runs/run/picture";
  EXPECT_THAT(trouble(picture, "window_end_ns=1&columns=1", 400), HasSubstr("window_begin_ns is missing"));
  EXPECT_THAT(trouble(picture, "window_begin_ns=x&window_end_ns=1&columns=1", 400),
              HasSubstr("window_begin_ns is not a whole number"));
  EXPECT_THAT(trouble(picture, "window_begin_ns=9007199254740992&window_end_ns=1&columns=1", 400),
              HasSubstr("window_begin_ns is not"));
  EXPECT_THAT(trouble(picture, "window_begin_ns=2&window_end_ns=1&columns=1", 400),
              HasSubstr("window_begin_ns is not before window_end_ns"));
  EXPECT_THAT(trouble(picture, "window_begin_ns=0&window_end_ns=1&columns=0", 400), HasSubstr("1 to 4096"));
  EXPECT_THAT(trouble(picture, "window_begin_ns=0&window_end_ns=1&columns=4097", 400), HasSubstr("1 to 4096"));
  EXPECT_THAT(trouble(picture, "window_begin_ns=0&window_end_ns=1&columns=1&only_tracks=1,x", 400),
              HasSubstr("only_tracks is not a list"));
  EXPECT_THAT(trouble(picture, "window_begin_ns=0&window_end_ns=1&columns=1&hidden_shades=256", 400),
              HasSubstr("1 to 255"));
  EXPECT_THAT(trouble(picture, "window_begin_ns=0&window_end_ns=1&columns=1&box_pixels=nan", 400),
              HasSubstr("box_pixels is not a number"));
  EXPECT_THAT(trouble(picture, "window_begin_ns=0&window_end_ns=1&columns=1&with_counters=yes", 400),
              HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(trouble(picture, "window_begin_ns=0&window_begin_ns=0&window_end_ns=1&columns=1", 400),
              HasSubstr("given twice"));
  EXPECT_THAT(trouble(picture, "window_begin_ns=%zz", 400), HasSubstr("percent-encoded"));
  EXPECT_THAT(trouble("runs/run/neighbour", "at_ns=0&direction=up", 400), HasSubstr("neither next nor previous"));
  EXPECT_THAT(trouble("runs/run/neighbour", "at_ns=0&direction=next&subject=1", 400), HasSubstr("subject needs"));
  EXPECT_THAT(trouble("runs/run/neighbour", "at_ns=0&direction=next&track_kind=cast", 400),
              HasSubstr("no kind of track"));
  EXPECT_THAT(trouble("runs/run/find", "", 400), HasSubstr("find is missing"));
}

TEST_F(RoutesTest, ADeletedFileIsGoneAndWhatIsInMemoryStays) {
  record();
  show();
  loaded();
  std::filesystem::remove(path());
  EXPECT_EQ(json("runs/run")["run_state"], "gone");
  EXPECT_EQ(ask("runs/run/picture", window() + "&columns=100").status, 200);
  EXPECT_THAT(trouble("runs/run/report", "", 404), HasSubstr("moved or deleted"));
}

TEST_F(RoutesTest, AFileThatIsNoRunSaysSo) {
  write(path(), "what is this");
  show();
  EXPECT_EQ(json("runs")["runs"][0]["read_error"], path() + ": this is not a castscope run file");
  EXPECT_THAT(trouble("runs/run", "", 500), HasSubstr("this is not a castscope run file"));
}

TEST_F(RoutesTest, EventsThatCannotBeReadAreTold) {
  record();
  auto database = store::Database::open(path(), SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(database.ok() && database->exec("UPDATE event_blocks SET packed_events = x'63'").ok());
  ASSERT_TRUE(database->close().ok());
  show();
  const Json run = loaded();
  EXPECT_FALSE(run["damage"].is_null());
  EXPECT_EQ(run["totals"]["casts"], 4);
  EXPECT_TRUE(run["tracks"].empty());
}

TEST_F(RoutesTest, ARunWithoutAnEndIsLost) {
  auto store = create();
  store::TestRun run(*store);
  record_events(run);
  run.flush();
  show();
  EXPECT_EQ(loaded()["run_state"], "lost");
}

TEST_F(RoutesTest, ARunWhoseEndNobodyToldIsLost) {
  auto store = create();
  store::TestRun run(*store);
  record_events(run);
  run.flush();
  (void)store->finish({.end_ns = start().start_ns + 1, .exit_status = {}, .signal = {}, .complete = false});
  EXPECT_TRUE(store->close().ok());
  show();
  EXPECT_EQ(json("runs")["runs"][0]["run_state"], "lost");
  EXPECT_EQ(loaded()["run_state"], "lost");
}

TEST_F(RoutesTest, ARunThatEndedIsFinishedBeforeItIsReadToo) {
  record();
  show();
  EXPECT_EQ(json("runs")["runs"][0]["run_state"], "finished");
  EXPECT_EQ(loaded()["run_state"], "finished");
}

TEST_F(RoutesTest, AFolderIsFollowed) {
  runs_.watch_folder(folder_.string(), [](const std::string& id, const std::string& file) -> RunPtr {
    return std::make_shared<FileRun>(id, file, FileRunOptions());
  });
  record();
  ASSERT_EQ(json("runs")["runs"].size(), 1u);
  EXPECT_EQ(json("runs/run")["totals"]["casts"], 4);
}

TEST_F(RoutesTest, OnlyTheRunsAskedForLastStayInMemory) {
  record();
  for (std::size_t i = 0; i <= Runs::kInMemory; ++i)
    runs_.put(std::make_shared<FileRun>("run" + std::to_string(i), path() + std::to_string(i), FileRunOptions()));
  const RunPtr first = runs_.find("run0");
  for (std::size_t i = 1; i < Runs::kInMemory; ++i) runs_.find("run" + std::to_string(i));
  EXPECT_EQ(runs_.find("run0"), first);
  const RunPtr second = runs_.find("run1");
  runs_.find("run" + std::to_string(Runs::kInMemory));
  EXPECT_EQ(runs_.find("run1"), second);
  EXPECT_EQ(runs_.find("run0"), first);
  runs_.find("run2");
  runs_.find("run3");
  runs_.find("run" + std::to_string(Runs::kInMemory));
  EXPECT_NE(runs_.find("run1"), second);
}

// docs/openapi.json tells other programmers which routes exist.
TEST_F(RoutesTest, StacksAreATreeThatNamesEachFrameOnce) {
  record();
  show();
  const Json stacks = json("runs/run/stacks"), sites = json("runs/run/definitions")["sites"];
  ASSERT_EQ(stacks["site_nodes"].size(), sites.size());
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const std::size_t node = stacks["site_nodes"][i];
    std::set<int> lines;
    for (std::size_t at = node, caller = 0; at != 0; at = caller) {
      lines.insert(stacks["frames"][stacks["node_frames"][at - 1].get<std::size_t>()]["line"].get<int>());
      caller = stacks["node_parents"][at - 1];
      EXPECT_LT(caller, at) << "a caller comes before what it calls";
    }
    EXPECT_TRUE(sites[i]["line"].is_null() || lines.contains(sites[i]["line"])) << sites[i];
  }
  std::set<std::string> frames;
  for (const Json& frame : stacks["frames"]) EXPECT_TRUE(frames.insert(frame.dump()).second) << frame;
}

TEST_F(RoutesTest, EveryRouteIsDocumentedWithItsParameters) {
  std::ifstream file(CASTSCOPE_SOURCE_DIR "/docs/openapi.json");
  const Json document = Json::parse(file, nullptr, false);
  ASSERT_TRUE(document.is_object());
  std::map<std::string, std::set<std::string>> documented, served;
  std::set<std::string> documented_tags, tags;
  for (const auto& [path, of] : document["paths"].items()) {
    auto& names = documented[path];
    for (Json parameter : of["get"]["parameters"]) {
      if (parameter.contains("$ref"))
        parameter = document[Json::json_pointer(parameter["$ref"].get<std::string>().substr(1))];
      if (parameter["in"] == "query") names.insert(parameter["name"].get<std::string>());
    }
    if (of["get"]["responses"].contains("304")) documented_tags.insert(path);
  }
  for (const Route& route : routes()) {
    const std::string path = "/" + std::string(route.path);
    served[path] = {route.parameters.begin(), route.parameters.end()};
    if (route.has_tag) tags.insert(path);
  }
  EXPECT_EQ(served, documented);
  EXPECT_EQ(tags, documented_tags);
}

}  // namespace
}  // namespace castscope::web
