#include "server/exported/program/program_reader.h"

#include <gmock/gmock.h>

#include "server/exported/testing/test_program.h"

namespace castscope::exported {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const std::string& json) {
  const auto program = read_program(json, "model");
  return program.ok() ? "" : std::string(program.status().message());
}

TEST(ProgramReaderTest, HasWhatTheFileSays) {
  const auto read = read_program(program_json(dropped(), {"w"}).dump(), "model");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->torch_version, "2.13.0");
  EXPECT_EQ(read->schema_minor, 20);
  const Graph& graph = read->graph;
  EXPECT_THAT(graph.inputs, ElementsAre("x", "w"));
  ASSERT_EQ(graph.nodes.size(), 3u);
  const Node& linear = graph.nodes[0];
  EXPECT_EQ(linear.op, "aten::linear");
  EXPECT_EQ(linear.overload, "default");
  ASSERT_TRUE(linear.place);
  EXPECT_EQ(linear.place->at.line, 12);
  EXPECT_EQ(linear.place->at.function, "Net.forward");
  EXPECT_THAT(linear.outputs, ElementsAre("linear"));
  EXPECT_EQ(graph.value("linear")->dtype, Dtype::kBFloat16);
  EXPECT_EQ(graph.value("linear")->dimensions, 2u);
  EXPECT_EQ(graph.value("linear")->device, "cpu");
  EXPECT_EQ(graph.value("x")->origin, Origin::kInput);
  EXPECT_EQ(graph.value("w")->origin, Origin::kWeight);
}

TEST(ProgramReaderTest, ListsAndOptionalTensorsAreTensors) {
  Json json = program_json(dropped());
  json["graph_module"]["graph"]["nodes"][0]["inputs"] = {
      {{"name", "a"}, {"arg", {{"as_tensors", {{{"name", "x"}}, {{"name", "w"}}}}}}},
      {{"name", "b"}, {"arg", {{"as_optional_tensors", {{{"as_tensor", {{"name", "x"}}}}, {{"as_none", true}}}}}}},
      {{"name", "c"}, {"arg", {{"as_nested_tensors", {{{{"name", "w"}}}}}}}}};
  const auto read = read_program(json.dump(), "model");
  ASSERT_TRUE(read.ok()) << read.status();
  const Node& node = read->graph.nodes[0];
  EXPECT_THAT(node.argument("a")->tensors, ElementsAre("x", "w"));
  EXPECT_THAT(node.argument("b")->tensors, ElementsAre("x", ""));
  EXPECT_THAT(node.argument("c")->tensors, ElementsAre("w"));
}

TEST(ProgramReaderTest, WhatIsMissingIsToldWithItsPlace) {
  const auto without = [](const char* pointer) {
    Json json = program_json(dropped());
    const Json::json_pointer at(pointer);
    json.at(at.parent_pointer()).erase(at.back());
    return error_of(json.dump());
  };
  EXPECT_EQ(without("/graph_module"), "it is not what torch.export writes: \"graph_module\" is missing");
  EXPECT_THAT(without("/graph_module/graph"), HasSubstr("\"graph_module.graph\" is missing"));
  EXPECT_THAT(without("/graph_module/graph/nodes"), HasSubstr("\"graph_module.graph.nodes\" is missing"));
  EXPECT_THAT(without("/graph_module/graph/tensor_values"), HasSubstr("tensor_values\" is missing"));
  EXPECT_THAT(without("/schema_version"), HasSubstr("\"schema_version\" is missing"));
  EXPECT_THAT(without("/schema_version/major"), HasSubstr("\"schema_version.major\" is missing"));
  EXPECT_THAT(without("/graph_module/graph/tensor_values/x/dtype"), HasSubstr("tensor_values.x.dtype\" is missing"));
  for (const char* key : {"target", "inputs", "outputs"})
    EXPECT_THAT(without((std::string("/graph_module/graph/nodes/1/") + key).c_str()),
                HasSubstr(std::string("\"graph_module.graph.nodes[1].") + key + "\" is missing"));
  for (const char* key : {"/torch_version", "/graph_module/signature", "/graph_module/graph/nodes/1/metadata"})
    EXPECT_EQ(without(key), "") << key;
}

TEST(ProgramReaderTest, WhatIsOfAnotherKindIsAnErrorOrPassedOver) {
  const std::vector<std::string> values = {"null", "1", "-1", "1e300", "\"x\"", "[]", "{}", "[{}]", "{\"a\": [1]}"};
  const Json flat = program_json(dropped(), {"w"}).flatten();
  for (const auto& [pointer, before] : flat.items()) {
    for (const std::string& value : values) {
      Json json = program_json(dropped(), {"w"});
      json[Json::json_pointer(pointer)] = Json::parse(value);
      (void)read_program(json.dump(), "model");  // no crash
      for (auto at = Json::json_pointer(pointer); !at.empty(); at.pop_back()) {
        Json cut = json;
        cut[at] = Json::parse(value);
        (void)read_program(cut.dump(), "model");
      }
    }
  }
}

TEST(ProgramReaderTest, WhatIsNoJsonIsTold) {
  const std::string whole = program_json(dropped()).dump();
  EXPECT_EQ(error_of(""), "it is not JSON, or was cut short");
  EXPECT_EQ(error_of("[1, 2]"), "it is not a JSON object");
  EXPECT_EQ(error_of("\xff\xfe"), "it is not JSON, or was cut short");
  for (std::size_t size = 1; size < whole.size(); size += 7)
    EXPECT_EQ(error_of(whole.substr(0, size)), "it is not JSON, or was cut short") << size;
}

TEST(ProgramReaderTest, WhatWouldTakeAllMemoryIsRefused) {
  EXPECT_EQ(error_of(std::string(10'000'000, '[')), "its JSON is nested deeper than any program's");
  std::string objects;
  for (int i = 0; i < 1000; ++i) objects += "{\"a\":";
  EXPECT_EQ(error_of(objects), "its JSON is nested deeper than any program's");
  std::string many = "[";
  for (int i = 0; i < 21'000'000; ++i) many += "1,";
  EXPECT_EQ(error_of(many + "1]"), "its JSON has more values than any program's");
  // Brackets and commas inside texts do not count.
  Json json = program_json(dropped());
  json["torch_version"] = std::string(1000, '[') + "\\\"" + std::string(1000, '{');
  EXPECT_EQ(error_of(json.dump()), "");
}

TEST(ProgramReaderTest, OfAnotherSchemaNothingIsReadButItsNumber) {
  const auto read = read_program(R"({"schema_version": {"major": 9, "minor": 1}, "torch_version": "3.0"})", "model");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->schema_major, 9);
  EXPECT_EQ(read->torch_version, "3.0");
}

}  // namespace
}  // namespace castscope::exported
