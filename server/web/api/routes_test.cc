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
  EXPECT_EQ(run["state"], "finished");
  EXPECT_EQ(run["loaded"], 1.0);
  EXPECT_EQ(run["command"], Json({"python", "train.py", "--lr=1e-3"}));
  EXPECT_EQ(run["start"], "2026-11-18T11:06:40.000Z");
  EXPECT_EQ(run["end_ns"], 2'000'000'000);
  EXPECT_EQ(run["exit_status"], 0);
  EXPECT_EQ(run["totals"]["casts"], 4);
  EXPECT_EQ(run["totals"]["cache_hits"], 1);
  EXPECT_EQ(run["totals"]["pass_through"], 3);
  EXPECT_EQ(run["totals"]["steps"], 2);
  EXPECT_EQ(run["processes"].size(), 1u);
  const Json list = json("runs")["runs"];
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["id"], "run");
  EXPECT_EQ(list[0]["state"], "finished");
  EXPECT_EQ(list[0]["start"], run["start"]);
  EXPECT_EQ(list[0]["events"], run["totals"]["events"]);
}

TEST_F(RoutesTest, DefinitionsAreToldOnce) {
  record();
  show();
  const Json all = json("runs/run/definitions");
  ASSERT_GE(all["sites"].size(), 2u);
  EXPECT_EQ(all["sites"][0]["name"], "linear weight, float32 to bfloat16");
  EXPECT_EQ(all["sites"][0]["file"], "/home/user/project/train.py");
  EXPECT_EQ(all["sites"][0]["line"], 11);
  EXPECT_EQ(all["sites"][0]["module"], "head");
  EXPECT_EQ(all["regions"].size(), 1u);
  const Json rest = json("runs/run/definitions", "sites=1&regions=1");
  EXPECT_EQ(rest["sites"].size(), all["sites"].size() - 1);
  EXPECT_EQ(rest["sites"][0]["id"], 2);
  EXPECT_EQ(rest["regions"].size(), 0u);
}

TEST_F(RoutesTest, ShadesOfSitesAreThoseOfTheirEvents) {
  record();
  show();
  const Json run = loaded();
  const Json site = json("runs/run/definitions")["sites"][0];
  const Json event = json("runs/run/event", "track=" + std::to_string(track(run, "casts")) +
                                                "&within=1&at=" + std::to_string(first_cast(run)))["event"];
  EXPECT_EQ(event["subject"], 1);
  EXPECT_EQ(event["shade"], site["shade"]);
  EXPECT_EQ(event["kind"], "down");
}

TEST_F(RoutesTest, APictureInTheViewersForm) {
  record();
  show();
  loaded();
  const Response response = ask("runs/run/picture", window() + "&columns=100&counters=1");
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
  const Json first = json("runs/run/event", casts + "&within=1&at=" + std::to_string(first_cast(run)))["event"];
  EXPECT_EQ(first["in_file"], true);
  EXPECT_EQ(first["bytes"], 1000);
  EXPECT_EQ(first["cache"], "not kept");
  EXPECT_EQ(first["why"], "no_requires_grad");
  const Json& stack = first["stack"];  // innermost first: torch's modules, then the line that called them
  EXPECT_TRUE(std::any_of(stack.begin(), stack.end(), [](const Json& frame) { return frame["line"] == 11; })) << stack;
  EXPECT_EQ(first["region"]["id"], 1);
  const Json kept = json("runs/run/neighbour", casts + "&at=-1&direction=next&find=encoder")["event"];
  EXPECT_EQ(kept["cache"], "kept");
  EXPECT_EQ(kept["bytes"], 4096);
  EXPECT_EQ(json("runs/run/event", casts + "&at=900000&within=0")["event"], nullptr);
}

TEST_F(RoutesTest, NeighboursByTrackKindAndSubject) {
  record();
  show();
  const Json run = loaded();
  const std::string casts = "track=" + std::to_string(track(run, "casts"));
  const Json first = json("runs/run/neighbour", casts + "&at=-1&direction=next")["event"];
  const std::string at = std::to_string(first["begin"].get<std::int64_t>());
  EXPECT_EQ(json("runs/run/neighbour", casts + "&at=" + at + "&direction=previous")["event"], nullptr);
  const Json other = json("runs/run/neighbour", "kind=casts&subject=2&at=" + at + "&direction=next")["event"];
  EXPECT_EQ(other["subject"], 2);
  EXPECT_EQ(json("runs/run/neighbour", "kind=operators&at=-1&direction=next")["event"], nullptr);
}

TEST_F(RoutesTest, SearchCountsExactly) {
  record();
  show();
  loaded();
  const Json found = json("runs/run/find", "text=ENCODER");
  EXPECT_EQ(found["sites"], Json({2}));
  EXPECT_EQ(found["count"], 3);  // two casts, a hit
  EXPECT_GT(found["first"], 0);
  EXPECT_EQ(found["events"], 3);
  EXPECT_EQ(found["exact"], true);
  EXPECT_EQ(json("runs/run/find", "text=nowhere")["count"], 0);
  EXPECT_EQ(json("runs/run/find", "text=nowhere")["events"], 0);
  EXPECT_EQ(json("runs/run/find", "text=nowhere")["first"], nullptr);
}

TEST_F(RoutesTest, SearchKnowsTheShortNamesOfDtypes) {
  record();
  show();
  loaded();
  EXPECT_EQ(json("runs/run/find", "text=BF16")["sites"], json("runs/run/find", "text=bfloat16")["sites"]);
  EXPECT_EQ(json("runs/run/find", "text=fp32")["count"], 5);
  EXPECT_EQ(json("runs/run/find", "text=fp64")["count"], 0);
}

TEST_F(RoutesTest, WhatHasNoSitesCountsAsTheTimelineHasIt) {
  record();
  show();
  loaded();
  const Json found = json("runs/run/find", "text=autocast");
  EXPECT_EQ(found["count"], 0);
  EXPECT_EQ(found["events"], 2);  // regions
  EXPECT_EQ(found["kinds"][0]["kind"], "region");
}

TEST_F(RoutesTest, ASummaryOfEverything) {
  record();
  show();
  loaded();
  const Json sums = json("runs/run/summary", window());
  EXPECT_EQ(sums["exact"], true);
  std::map<std::string, int> counts;
  for (const Json& kind : sums["kinds"]) counts[kind["kind"]] = kind["count"];
  EXPECT_EQ(counts["down"], 4);
  EXPECT_EQ(counts["hit"], 1);
  EXPECT_EQ(counts["region"], 2);
  const Json one = json("runs/run/summary", window() + "&find=head");
  EXPECT_EQ(one["rows"].size(), 1u);
  EXPECT_EQ(one["rows"][0]["subject"], 1);
  EXPECT_EQ(one["rows"][0]["count"], 2);
}

TEST_F(RoutesTest, FindingsLieAtTheirFirstEvent) {
  record();
  show();
  loaded();
  const Json told = json("runs/run/findings");
  ASSERT_FALSE(told["findings"].empty());
  const Json finding = told["findings"][0];
  EXPECT_EQ(finding["rule"], "weight-cast-repeatedly");
  EXPECT_EQ(finding["sites"], Json({1}));
  const Json first = json("runs/run/neighbour", "kind=casts&at=-1&direction=next")["event"];
  EXPECT_EQ(finding["time"], first["begin"]);
  EXPECT_EQ(finding["track"], first["track"]);
}

TEST_F(RoutesTest, SitesModulesAndSteps) {
  record();
  show();
  const Json sites = json("runs/run/sites");
  EXPECT_EQ(sites["sites"][0]["casts"], 2);
  EXPECT_EQ(sites["sites"][0]["passes"], 3);
  EXPECT_EQ(sites["sites"][1]["hits"], 1);
  EXPECT_EQ(sites["totals"]["casts"], 4);
  const Json models = json("runs/run/modules")["models"];
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0]["modules"][1]["path"], "head");
  EXPECT_EQ(models[0]["modules"][1]["cast_to"]["bfloat16"], 2);
  const Json steps = json("runs/run/steps")["processes"][0]["steps"];
  int casts = 0;
  for (const Json& step : steps) casts += step["casts"].get<int>();
  EXPECT_EQ(casts, 4);
}

TEST_F(RoutesTest, SourceShowsWhatTheRunNamesAndNothingElse) {
  record();
  show();
  const Json files = json("runs/run/source")["files"];
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0]["casts"], 4);
  const Json one = json("runs/run/source", "file=/home/user/project/train.py");
  EXPECT_EQ(one["missing"], true);
  EXPECT_EQ(one["casts"]["11"]["casts"], 2);
  EXPECT_EQ(one["findings"]["11"], Json({"weight-cast-repeatedly"}));
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
  EXPECT_TRUE(json("runs/run/compare", "with=run")["sites"].empty());
  EXPECT_THAT(trouble("runs/run/compare", "with=other", 404), HasSubstr("no such run"));
  EXPECT_THAT(trouble("runs/run/compare", "", 400), HasSubstr("with is missing"));
}

TEST_F(RoutesTest, WhatIsWrongIsASentence) {
  record();
  show();
  EXPECT_THAT(trouble("runs/none", "", 404), HasSubstr("no such run"));
  EXPECT_THAT(trouble("runs/run/nothing", "", 404), HasSubstr("no such route"));
  EXPECT_THAT(trouble("runs/run", "what=1", 400), HasSubstr("no parameter what"));
  const char* const picture = "runs/run/picture";
  EXPECT_THAT(trouble(picture, "to=1&columns=1", 400), HasSubstr("from is missing"));
  EXPECT_THAT(trouble(picture, "from=x&to=1&columns=1", 400), HasSubstr("from is not a whole number"));
  EXPECT_THAT(trouble(picture, "from=9007199254740992&to=1&columns=1", 400), HasSubstr("from is not"));
  EXPECT_THAT(trouble(picture, "from=2&to=1&columns=1", 400), HasSubstr("from is not before to"));
  EXPECT_THAT(trouble(picture, "from=0&to=1&columns=0", 400), HasSubstr("1 to 4096"));
  EXPECT_THAT(trouble(picture, "from=0&to=1&columns=4097", 400), HasSubstr("1 to 4096"));
  EXPECT_THAT(trouble(picture, "from=0&to=1&columns=1&tracks=1,x", 400), HasSubstr("tracks is not a list"));
  EXPECT_THAT(trouble(picture, "from=0&to=1&columns=1&hide=256", 400), HasSubstr("1 to 255"));
  EXPECT_THAT(trouble(picture, "from=0&to=1&columns=1&box=nan", 400), HasSubstr("box is not a number"));
  EXPECT_THAT(trouble(picture, "from=0&to=1&columns=1&counters=yes", 400), HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(trouble(picture, "from=0&from=0&to=1&columns=1", 400), HasSubstr("given twice"));
  EXPECT_THAT(trouble(picture, "from=%zz", 400), HasSubstr("percent-encoded"));
  EXPECT_THAT(trouble("runs/run/neighbour", "at=0&direction=up", 400), HasSubstr("neither next nor previous"));
  EXPECT_THAT(trouble("runs/run/neighbour", "at=0&direction=next&subject=1", 400), HasSubstr("subject needs"));
  EXPECT_THAT(trouble("runs/run/neighbour", "at=0&direction=next&kind=cast", 400), HasSubstr("no kind of track"));
  EXPECT_THAT(trouble("runs/run/find", "", 400), HasSubstr("text is missing"));
}

TEST_F(RoutesTest, ADeletedFileIsGoneAndWhatIsInMemoryStays) {
  record();
  show();
  loaded();
  std::filesystem::remove(path());
  EXPECT_EQ(json("runs/run")["state"], "gone");
  EXPECT_EQ(ask("runs/run/picture", window() + "&columns=100").status, 200);
  EXPECT_THAT(trouble("runs/run/report", "", 404), HasSubstr("moved or deleted"));
}

TEST_F(RoutesTest, AFileThatIsNoRunSaysSo) {
  write(path(), "what is this");
  show();
  EXPECT_EQ(json("runs")["runs"][0]["trouble"], path() + ": this is not a castscope run file");
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
  EXPECT_EQ(loaded()["state"], "lost");
}

TEST_F(RoutesTest, ARunWhoseEndNobodyToldIsLost) {
  auto store = create();
  store::TestRun run(*store);
  record_events(run);
  run.flush();
  (void)store->finish({.end_ns = start().start_ns + 1, .exit_status = {}, .signal = {}, .complete = false});
  EXPECT_TRUE(store->close().ok());
  show();
  EXPECT_EQ(json("runs")["runs"][0]["state"], "lost");
  EXPECT_EQ(loaded()["state"], "lost");
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
