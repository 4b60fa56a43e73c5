// Builds programs for tests: the JSON that torch.export writes, and the zip archive around it.
#pragma once

#include <minizip/zip.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "server/exported/program/program_reader.h"

namespace castscope::exported {

inline constexpr int kF16 = 6, kF32 = 7, kBF16 = 13;  // numbers of the file format

using Json = nlohmann::ordered_json;

inline Json tensor_argument(const std::string& name) { return {{"as_tensor", {{"name", name}}}}; }

// Builds one graph, from its first operator to its last.
class TestGraph {
 public:
  TestGraph() {
    json_ = {{"inputs", Json::array()}, {"outputs", Json::array()}, {"nodes", Json::array()}};
    json_["tensor_values"] = Json::object();
  }
  TestGraph& tensor(const std::string& name, int dtype, int dimensions = 2, const std::string& device = "cpu") {
    Json sizes = Json::array();
    for (int i = 0; i < dimensions; ++i) sizes.push_back({{"as_int", 8}});
    json_["tensor_values"][name] = {{"dtype", dtype}, {"sizes", sizes}, {"device", {{"type", device}}}};
    return *this;
  }
  TestGraph& input(const std::string& name, int dtype, int dimensions = 2) {
    json_["inputs"].push_back(tensor_argument(name));
    return tensor(name, dtype, dimensions);
  }
  // Adds "aten.linear.default" of these tensors, which gives `output`, at model.py:`line`.
  TestGraph& op(const std::string& target, const std::vector<std::string>& tensors, const std::string& output,
                int dtype, int line = 0) {
    Json inputs = Json::array();
    for (const std::string& name : tensors) inputs.push_back({{"name", "self"}, {"arg", tensor_argument(name)}});
    json_["nodes"].push_back({{"target", "torch.ops." + target},
                              {"inputs", inputs},
                              {"outputs", {tensor_argument(output)}},
                              {"metadata", metadata(line)}});
    return tensor(output, dtype);
  }
  TestGraph& dtype_argument(int dtype) {  // the last operator's dtype argument
    json_["nodes"].back()["inputs"].push_back({{"name", "dtype"}, {"arg", {{"as_scalar_type", dtype}}}});
    return *this;
  }
  TestGraph& check(const std::string& name, int dtype, int line = 0) {
    json_["nodes"].push_back({{"target", "torch.ops.aten._assert_tensor_metadata.default"},
                              {"inputs", {{{"name", "a"}, {"arg", tensor_argument(name)}}}},
                              {"outputs", Json::array()},
                              {"metadata", metadata(line)}});
    return dtype_argument(dtype);
  }
  // Adds `with torch.autocast(device, dtype, enabled)`: a graph of these tensors, which have the same names inside.
  TestGraph& region(const std::string& device, Json dtype, bool enabled, TestGraph inside,
                    const std::vector<std::string>& tensors, const std::string& output, int recorded) {
    Json inputs = Json::array();
    const auto add = [&](Json arg) { inputs.push_back({{"name", ""}, {"arg", std::move(arg)}}); };
    add({{"as_string", device}});
    add(dtype.is_null() ? Json{{"as_none", true}} : Json{{"as_scalar_type", dtype}});
    add({{"as_bool", enabled}});
    add({{"as_none", true}});
    add({{"as_graph", {{"name", "submod_1"}, {"graph", std::move(inside.json_)}}}});
    for (const std::string& name : tensors) add(tensor_argument(name));
    json_["nodes"].push_back({{"target", "torch.ops.higher_order.wrap_with_autocast"},
                              {"inputs", inputs},
                              {"outputs", {tensor_argument(output)}},
                              {"metadata", Json::object()}});
    return tensor(output, recorded);
  }
  TestGraph& gives(const std::string& name) {
    json_["outputs"].push_back(tensor_argument(name));
    return *this;
  }
  Json& last() { return json_["nodes"].back(); }
  const Json& json() const { return json_; }

  static Json metadata(int line) {
    if (line == 0) return Json::object();
    const std::string at = std::to_string(line);
    return {{"stack_trace", "  File \"/job/model.py\", line " + at + ", in forward\n    y = line_" + at + "(x)\n"},
            {"nn_module_stack", "L__self__,,model.Net"}};
  }

 private:
  Json json_;
};

// `weights` names the inputs that are parameters.
inline Json program_json(const TestGraph& graph, const std::vector<std::string>& weights = {}) {
  Json specs = Json::array();
  for (const std::string& name : weights) specs.push_back({{"parameter", {{"arg", {{"name", name}}}}}});
  return {{"graph_module", {{"graph", graph.json()}, {"signature", {{"input_specs", specs}}}}},
          {"schema_version", {{"major", 8}, {"minor", 20}}},
          {"torch_version", "2.13.0"}};
}

// Returns the program of a graph that reads without errors.
inline Program program_of(const TestGraph& graph, const std::vector<std::string>& weights = {}) {
  auto program = read_program(program_json(graph, weights).dump(), "model");
  return program.ok() ? *std::move(program) : Program();
}

// linear(x, w) within a region that was dropped, then gelu and a sum with x.
inline TestGraph dropped() {
  return TestGraph()
      .input("x", kF32)
      .input("w", kF32)
      .op("aten.linear.default", {"x", "w"}, "linear", kBF16, 12)
      .op("aten.gelu.default", {"linear"}, "gelu", kBF16, 13)
      .op("aten.add.Tensor", {"gelu", "x"}, "add", kF32, 14)
      .gives("add");
}

// A folder of the test's own, and zip archives in it.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "castscope-exported-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TestFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  using Files = std::vector<std::pair<std::string, std::string>>;
  std::string zip(const std::string& name, const Files& files, int level = 0) const {
    const std::string file = (path_ / name).string();
    const zipFile zip = zipOpen64(file.c_str(), APPEND_STATUS_CREATE);
    for (const auto& [entry, text] : files) {
      zipOpenNewFileInZip64(zip, entry.c_str(), nullptr, nullptr, 0, nullptr, 0, nullptr, level == 0 ? 0 : Z_DEFLATED,
                            level, 0);
      zipWriteInFileInZip(zip, text.data(), static_cast<unsigned>(text.size()));
      zipCloseFileInZip(zip);
    }
    zipClose(zip, nullptr);
    return file;
  }
  // Writes the file as torch.export.save of PyTorch 2.13 does.
  std::string pt2(const Json& program, const std::string& name = "model.pt2") const {
    return zip(name, {{"model/data/weights/weight_0", "0123"},
                      {"model/models/model.json", program.dump()},
                      {"model/archive_format", "pt2"},
                      {"model/archive_version", "0"}});
  }
  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return (path_ / name).string();
  }
  static std::string bytes_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  std::filesystem::path path_;
};

}  // namespace castscope::exported
