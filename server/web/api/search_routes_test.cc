// What the language of the search finds in a run, through the routes that take it. search/query_test.cc has the
// language itself.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>

#include "server/web/api/routes_test.h"
#include "server/web/search/fields.h"

namespace castscope::web {
namespace {

class SearchRoutesTest : public RoutesTest {
 protected:
  void SetUp() override {
    RoutesTest::SetUp();
    record();
    show();
    loaded();
  }
  // The text with what addresses cannot hold in the form that they can.
  static std::string encoded(const std::string& text) {
    std::string form;
    for (const char c : text) {
      constexpr std::string_view kDigits = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      form += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
    return form;
  }
  Json found(const std::string& text) { return json("runs/run/find", "find=" + encoded(text)); }
  Json sites(const std::string& text) { return found(text)["site_ids"]; }
  int events(const std::string& text) { return found(text)["event_count"]; }
  std::string why_not(const std::string& text) { return trouble("runs/run/find", "find=" + encoded(text), 400); }

  const Json kNone = Json::array();
};

// Site 1 casts a frozen weight of `head` twice at train.py:11, site 2 an input of `encoder.0` at train.py:12, twice
// with a hit. Site 3 counts what passed through.
TEST_F(SearchRoutesTest, FieldsFindTheirSites) {
  EXPECT_EQ(sites("role:weight cause:autocast kind:cast"), Json({1}));
  EXPECT_EQ(sites("role:input"), Json({2}));
  EXPECT_EQ(sites("file:train.py:11"), Json({1}));
  EXPECT_EQ(sites("file:train.py:1"), kNone);
  EXPECT_EQ(sites("cache:no_requires_grad kind:cast"), Json({1, 2}));
  EXPECT_EQ(sites("cache:\"no requires grad\" kind:cast"), Json({1, 2}));
  EXPECT_EQ(sites("cache:kept"), kNone);
  EXPECT_EQ(sites("cause:user_to"), kNone);
  EXPECT_EQ(sites("rule:weight-cast-repeatedly"), Json({1}));
  EXPECT_EQ(sites("rule:weight-*"), Json({1}));
  EXPECT_EQ(sites("weight:head.weight"), Json({1}));
  EXPECT_EQ(sites("from:fp32 to:bf16"), Json({1, 2}));
  EXPECT_EQ(sites("from:bf16"), kNone);
}

TEST_F(SearchRoutesTest, AModuleHasTheModulesInIt) {
  EXPECT_EQ(sites("module:encoder"), Json({2}));
  EXPECT_EQ(sites("module:encoder.0"), Json({2}));
  EXPECT_EQ(sites("module:encoder.*"), Json({2}));
  EXPECT_EQ(sites("module:enc"), kNone);
  EXPECT_EQ(sites("module:0"), kNone);
  EXPECT_EQ(sites("module:encoder,head role:weight"), Json({1}));
}

TEST_F(SearchRoutesTest, KindsAreToldApart) {
  const Json hits = found("kind:hit");
  EXPECT_EQ(hits["casts_and_cache_hits"], 1);
  EXPECT_EQ(hits["event_count"], 1);
  EXPECT_EQ(hits["by_shade_kind"][0]["shade_kind"], "cache_hit");
  EXPECT_EQ(events("module:encoder"), 3);
  EXPECT_EQ(events("module:encoder kind:cast"), 2);
  EXPECT_EQ(events("module:encoder -kind:hit"), 2);
  EXPECT_EQ(events("kind:down,hit"), 5);
  EXPECT_EQ(events("kind:step"), 2);
  EXPECT_EQ(events("cache hit"), 1);
  EXPECT_EQ(events("\"cast down\""), 4);
}

TEST_F(SearchRoutesTest, WordsSearchWhatThePagePrints) {
  for (const char* text : {"fp32→bf16", "fp32->bf16", "float32 bfloat16", "\"float32 to bfloat16\"", "aten::linear",
                           "no_requires_grad", "\"no requires grad\""})
    EXPECT_EQ(sites(text + std::string(" kind:cast")), Json({1, 2})) << text;
  for (const char* text : {"head.weight", "weight-cast-repeatedly", "TRAIN.py:11"})
    EXPECT_EQ(sites(text + std::string(" kind:cast")), Json({1})) << text;
  EXPECT_EQ(sites("bf16->fp32"), kNone);
}

TEST_F(SearchRoutesTest, NegationIsTheRest) {
  const int all = events("-\"no such text\"");
  for (const char* text : {"role:weight", "kind:hit", "module:encoder", "linear"})
    EXPECT_EQ(events(text) + events("-" + std::string(text)), all) << text;
  EXPECT_EQ(sites("not role:weight kind:cast"), Json({2}));
}

TEST_F(SearchRoutesTest, EachRouteTakesTheLanguage) {
  const std::string find = "&find=" + encoded("kind:hit");
  EXPECT_EQ(json("runs/run/summary", window() + find)["event_count"], 1);
  EXPECT_EQ(json("runs/run/neighbour", "at_ns=-1&direction=next" + find)["event"]["shade_kind"], "cache_hit");
  const std::string picture = window() + "&columns=100";
  EXPECT_LT(ask("runs/run/picture", picture + find).body.size(), ask("runs/run/picture", picture).body.size());
  for (const std::string route : {"summary", "picture", "neighbour", "find"}) {
    std::string query = "find=" + encoded("layer:3");
    if (route != "find") query += route == "neighbour" ? "&at_ns=-1&direction=next" : "&" + window();
    if (route == "picture") query += "&columns=100";
    EXPECT_THAT(trouble("runs/run/" + route, query, 400), HasSubstr("there is no field layer")) << route;
  }
}

TEST_F(SearchRoutesTest, AWrongSearchIsToldWhatIsWrong) {
  EXPECT_THAT(why_not("mm cause:autocost"),
              HasSubstr("which stands at character 10; its values are unknown, autocast"));
  EXPECT_THAT(why_not("\"mm"), HasSubstr("the quotation mark at character 1"));
  EXPECT_THAT(why_not(" "), HasSubstr("the search is empty"));
  EXPECT_EQ(Json::parse(ask("runs/run/find", "find=x:").body)["parameter"], "find");
}

TEST_F(SearchRoutesTest, AnyTextIsAnsweredOrRefused) {
  std::mt19937 random(11);
  const std::string_view pieces[] = {"op:", "file:", "*",    "\"",       "-",    " ", ",",
                                     "a",   "é",     "\xff", "kind:hit", "not ", "\\"};
  std::map<int, int> answers;
  for (int i = 0; i < 500; ++i) {
    std::string text = "x";
    for (std::size_t n = random() % 8; n > 0; --n) text += pieces[random() % std::size(pieces)];
    const Response response = ask("runs/run/find", "find=" + encoded(text));
    ++answers[response.status];
    EXPECT_FALSE(Json::parse(response.body, nullptr, false).is_discarded()) << text;
  }
  EXPECT_EQ(answers[200] + answers[400], 500);
  EXPECT_GT(answers[200], 50);
  EXPECT_GT(answers[400], 50);
}

TEST_F(SearchRoutesTest, EachFieldIsDocumented) {
  std::ifstream file(CASTSCOPE_SOURCE_DIR "/docs/search.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const FieldInfo& info : search_fields())
    EXPECT_THAT(page, HasSubstr("`" + std::string(info.name) + ":`")) << "docs/search.md";
  for (const SearchField field : {SearchField::kKind, SearchField::kPhase}) {
    for (const std::string& value : closed_list(field))
      if (value != "unknown") EXPECT_THAT(page, HasSubstr("`" + value + "`")) << "docs/search.md";
  }
}

TEST_F(SearchRoutesTest, ATextIsCheckedWithoutARefusal) {
  EXPECT_EQ(json("check_search", "find=op:mm")["search_problem"], nullptr);
  EXPECT_THAT(json("check_search", "find=op:")["search_problem"].get<std::string>(), HasSubstr("has no value"));
  EXPECT_EQ(json("check_search", "find=")["search_problem"], "the search is empty");
  EXPECT_THAT(trouble("check_search", "", 400), HasSubstr("find is missing"));
}

// What the page suggests for a value is what a search for it finds.
TEST_F(SearchRoutesTest, ValuesAreCountedAsTheSearchFindsThem) {
  const Json fields = json("runs/run/fields")["search_fields"];
  EXPECT_EQ(fields.size(), search_fields().size());
  int values = 0;
  for (const Json& field : fields) {
    const std::string name = field["search_field"];
    const Json told = json("runs/run/fields", "search_field=" + name);
    EXPECT_EQ(told["total"], told["field_values"].size());
    for (const Json& one : told["field_values"]) {
      const std::string value = one["field_value"];
      EXPECT_EQ(events(name + ":\"" + value + "\""), one["event_count"]) << name << " " << value;
      ++values;
    }
  }
  EXPECT_GT(values, 25);
}

TEST_F(SearchRoutesTest, ValuesAreFoundByAPartOfThem) {
  const Json causes = json("runs/run/fields", "search_field=cause&part_of_value=AUTO")["field_values"];
  EXPECT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0]["field_value"], "autocast");
  const Json kinds = json("runs/run/fields", "search_field=kind&part_of_value=cache%20h")["field_values"];
  EXPECT_EQ(kinds[0]["field_value"], "hit");
  EXPECT_EQ(kinds[0]["shown_name"], "cache hit");
  EXPECT_EQ(json("runs/run/fields", "search_field=op&part_of_value=nothing")["total"], 0);
  EXPECT_THAT(trouble("runs/run/fields", "search_field=layer", 400), HasSubstr("no field"));
}

}  // namespace
}  // namespace castscope::web
