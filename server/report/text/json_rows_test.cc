#include "server/report/text/json_rows.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

TEST(JsonRowsTest, RowsOfListsStandOnALineAndMembersOnTheirOwn) {
  const Json value = {{"format", 2},
                      {"run", {{"command", {"python", "train.py"}}, {"end", nullptr}, {"notices", Json::array()}}},
                      {"sites", {{{"site", 1}, {"by_process", {{{"process", 1}}}}}, {{"site", 2}}}},
                      {"empty", Json::object()}};
  EXPECT_EQ(json_rows(value),
            "{\n"
            " \"format\": 2,\n"
            " \"run\": {\n"
            "  \"command\": [\"python\",\"train.py\"],\n"
            "  \"end\": null,\n"
            "  \"notices\": []\n"
            " },\n"
            " \"sites\": [\n"
            "  {\"site\":1,\"by_process\":[{\"process\":1}]},\n"
            "  {\"site\":2}\n"
            " ],\n"
            " \"empty\": {}\n"
            "}\n");
  EXPECT_EQ(Json::parse(json_rows(value)), value);
}

TEST(JsonRowsTest, BytesThatAreNoTextCostNothingElse) {
  const Json value = {{"na\"me", "caf\xe9"}, {"sites", {{{"file", "\xff"}}}}};
  EXPECT_EQ(Json::parse(json_rows(value)), (Json{{"na\"me", "caf\uFFFD"}, {"sites", {{{"file", "\uFFFD"}}}}}));
}

}  // namespace
}  // namespace castscope::report
