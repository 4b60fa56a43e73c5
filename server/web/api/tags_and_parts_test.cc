// What answers have in common: tags, so that nothing is told twice, and lists in parts.
#include <algorithm>

#include "server/web/api/entity_tag.h"
#include "server/web/api/list_part.h"
#include "server/web/api/routes_test.h"

namespace castscope::web {
namespace {

class TagsAndPartsTest : public RoutesTest {
 protected:
  static std::string header(const Response& response, std::string_view name) {
    for (const auto& [key, value] : response.headers) {
      if (key == name) return value;
    }
    return "";
  }
  Response ask_with_tag(const std::string& path, const std::string& query, const std::string& tag) {
    return answer_api(
        runs_, {.method = "GET", .path = "/api/v2/" + path, .query = query, .host = "localhost", .if_none_match = tag});
  }
};

TEST_F(TagsAndPartsTest, WhoHasAnAnswerIsNotToldItAgain) {
  record();
  show();
  loaded();
  for (const Route& route : routes()) {
    if (!route.has_tag) continue;
    std::string path(route.path), query;
    path.replace(path.find("{run}"), 5, "run");
    if (path.ends_with("/compare")) query = "with_run=run";
    if (path.ends_with("/find")) query = "find=linear";
    if (path.ends_with("/neighbour")) query = "at_ns=-1&direction=next";
    if (path.ends_with("/summary")) query = window();
    const std::string tag = header(ask(path, query), "ETag");
    EXPECT_TRUE(tag.starts_with("W/\"")) << path;
    const Response again = ask_with_tag(path, query, tag);
    EXPECT_EQ(again.status, 304) << path;
    EXPECT_EQ(again.body, "") << path;
    EXPECT_EQ(header(again, "ETag"), tag) << path;
    EXPECT_EQ(ask_with_tag(path, query, "W/\"other\"").status, 200) << path;
  }
}

TEST_F(TagsAndPartsTest, AWrongQuestionHasNoAnswerThatOneCouldHave) {
  record();
  show();
  loaded();
  const std::string tag = header(ask("runs/run/sites"), "ETag");
  for (const std::string& sent : {tag, std::string("*")}) {
    EXPECT_EQ(ask_with_tag("runs/run/sites", "limit=0", sent).status, 400) << sent;
    EXPECT_EQ(ask_with_tag("runs/none/sites", "", sent).status, 404) << sent;
  }
  EXPECT_EQ(ask_with_tag("runs/run/sites", "", "*").status, 304);
}

TEST_F(TagsAndPartsTest, ATagChangesWithTheRun) {
  record();
  show();
  loaded();
  const std::string tag = header(ask("runs/run"), "ETag");
  EXPECT_EQ(header(ask("runs/run"), "ETag"), tag);
  runs_.put(runs_.find("run")->unloaded());
  loaded();
  EXPECT_NE(header(ask("runs/run"), "ETag"), tag) << "it was opened again";
  const std::string opened = header(ask("runs/run"), "ETag");
  std::filesystem::remove(path());
  EXPECT_EQ(ask_with_tag("runs/run", "", opened).status, 200) << "its file is gone";
}

TEST_F(TagsAndPartsTest, WhatIsNoAnswerHasNoTag) {
  record();
  show();
  EXPECT_EQ(header(ask("runs"), "ETag"), "");
  EXPECT_EQ(header(ask("runs/none"), "ETag"), "");
  EXPECT_EQ(header(ask("runs/run/find"), "ETag"), "");
  EXPECT_EQ(header(ask("runs/run/report"), "ETag"), "");
  write(path(), "what is this");
  runs_.put(std::make_shared<FileRun>("broken", path(), FileRunOptions()));
  EXPECT_EQ(ask_with_tag("runs/broken", "", "*").status, 500);
}

TEST(NamesTag, AsHttpComparesWeakly) {
  for (const char* sent : {"W/\"1\"", "\"1\"", "\"0\", W/\"1\"", "  W/\"1\"  "})
    EXPECT_TRUE(names_tag(sent, "W/\"1\""));
  for (const char* sent : {"", "W/\"11\"", "1", "*", "W/1", "\"\""}) EXPECT_FALSE(names_tag(sent, "W/\"1\"")) << sent;
}

TEST_F(TagsAndPartsTest, ALongListComesInParts) {
  record();
  for (const char* const id : {"a", "b", "c", "d", "e"})
    runs_.put(std::make_shared<FileRun>(id, path() + id, FileRunOptions()));
  std::vector<std::string> ids;
  std::string query = "limit=2";
  for (int parts = 1;; ++parts) {
    const Response response = ask("runs", query);
    const Json told = Json::parse(response.body, nullptr, false);
    EXPECT_EQ(told["total"], 5);
    for (const Json& run : told["runs"]) ids.push_back(run["run_name"]);
    if (told["next"].is_null()) {
      EXPECT_EQ(parts, 3);
      EXPECT_EQ(header(response, "Link"), "");
      break;
    }
    const std::string next = told["next"];
    EXPECT_EQ(header(response, "Link"), "<" + next + ">; rel=\"next\"");
    query = next.substr(next.find('?') + 1);
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
}

TEST_F(TagsAndPartsTest, SitesAndFindingsComeInPartsToo) {
  record();
  show();
  const Json all = json("runs/run/sites")["sites"];
  const Json one = json("runs/run/sites", "offset=1&limit=1");
  EXPECT_EQ(one["sites"], Json({all[1]}));
  EXPECT_EQ(one["total"], all.size());
  EXPECT_EQ(one["next"], all.size() > 2 ? Json("sites?offset=2&limit=1") : Json());
  const Json none = json("runs/run/findings", "offset=9007199254740991");
  EXPECT_TRUE(none["findings"].empty());
  EXPECT_EQ(none["total"], json("runs/run/findings")["findings"].size());
  EXPECT_EQ(none["next"], nullptr);
}

TEST_F(TagsAndPartsTest, LimitsAreChecked) {
  record();
  show();
  for (const char* const route : {"runs", "runs/run/findings", "runs/run/sites"}) {
    EXPECT_THAT(trouble(route, "limit=0", 400), HasSubstr("1 to 10000")) << route;
    EXPECT_THAT(trouble(route, "limit=10001", 400), HasSubstr("1 to 10000")) << route;
    EXPECT_THAT(trouble(route, "offset=-1", 400), HasSubstr("offset is not a whole number")) << route;
  }
}

TEST_F(TagsAndPartsTest, AWrongParameterIsNamed) {
  record();
  show();
  const auto wrong = [&](const std::string& route, const std::string& query) {
    return Json::parse(ask("runs/run" + route, query).body, nullptr, false).value("parameter", "");
  };
  EXPECT_EQ(wrong("/sites", "limit=x"), "limit");
  EXPECT_EQ(wrong("/picture", "window_end_ns=1&columns=1"), "window_begin_ns");
  EXPECT_EQ(wrong("", "what=1"), "what");
  EXPECT_EQ(wrong("/find", ""), "find");
  EXPECT_EQ(wrong("/compare", ""), "with_run");
  EXPECT_EQ(wrong("/report", "format=pdf"), "format");
  EXPECT_EQ(wrong("/nothing", ""), "");
}

}  // namespace
}  // namespace castscope::web
