#include "server/exported/program/program_reader.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/exported/program/json_bounds.h"
#include "server/exported/program/stack_trace.h"

namespace castscope::exported {
namespace {

using Json = nlohmann::json;

// These parts of the file say nothing of dtypes, and they are half of its size.
constexpr std::array<std::string_view, 11> kPassedOver = {
    "strides",        "storage_offset",  "layout",           "module_call_graph", "range_constraints", "guards_code",
    "sym_int_values", "sym_bool_values", "sym_float_values", "custom_obj_values", "output_specs"};

// Gets parts of the JSON by their place, and keeps the first complaint.
class Reading {
 public:
  const std::string& wrong() const { return wrong_; }

  // Returns null after a complaint.
  const Json* object(const Json& in, const char* key, const std::string& place) {
    return find(in, key, place, &Json::is_object, "is not an object");
  }
  const Json* list(const Json& in, const char* key, const std::string& place) {
    return find(in, key, place, &Json::is_array, "is not a list");
  }
  std::string text(const Json& in, const char* key, const std::string& place) {
    const Json* const found = find(in, key, place, &Json::is_string, "is not text");
    return found == nullptr ? "" : found->get<std::string>();
  }
  std::int64_t number(const Json& in, const char* key, const std::string& place) {
    const Json* const found = find(in, key, place, &Json::is_number_integer, "is not a whole number");
    return found == nullptr ? 0 : found->get<std::int64_t>();
  }
  void complain(const std::string& place, std::string_view sentence) {
    if (wrong_.empty()) wrong_ = absl::StrCat("\"", place, "\" ", std::string(sentence));
  }

 private:
  const Json* find(const Json& in, const char* key, const std::string& place, bool (Json::*is)() const noexcept,
                   std::string_view is_not) {
    const std::string at = place.empty() ? key : absl::StrCat(place, ".", key);
    const auto found = in.is_object() ? in.find(key) : in.end();
    if (found == in.end())
      complain(at, "is missing");
    else if (!((*found).*is)())
      complain(at, is_not);
    else
      return &*found;
    return nullptr;
  }

  std::string wrong_;
};

// Returns "" where the text is missing.
std::string text_or_empty(const Json& in, const char* key) {
  const auto found = in.find(key);
  return found != in.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string name_in(const Json& argument) { return argument.is_object() ? text_or_empty(argument, "name") : ""; }

// Adds the tensors of an as_tensors, as_optional_tensors or as_nested_tensors.
void add_tensors(const Json& list, std::vector<std::string>& tensors) {
  if (!list.is_array()) return;
  for (const Json& entry : list) {
    if (entry.is_array())
      add_tensors(entry, tensors);
    else if (entry.is_object() && entry.contains("as_tensor"))
      tensors.push_back(name_in(entry.at("as_tensor")));
    else
      tensors.push_back(name_in(entry));
  }
}

// Returns all tensors that an argument or output holds, in their order.
std::vector<std::string> tensors_of(const Json& argument) {
  std::vector<std::string> tensors;
  if (!argument.is_object()) return tensors;
  for (const auto& [kind, value] : argument.items()) {
    if (kind == "as_tensor")
      tensors.push_back(name_in(value));
    else if (kind == "as_optional_tensor" && value.is_object() && value.contains("as_tensor"))
      tensors.push_back(name_in(value.at("as_tensor")));
    else if (kind == "as_tensors" || kind == "as_optional_tensors" || kind == "as_nested_tensors")
      add_tensors(value, tensors);
  }
  return tensors;
}

// Splits "torch.ops.aten.linear.default" into aten::linear and default.
void name_operator(Node& node) {
  constexpr std::string_view kOps = "torch.ops.", kHigher = "torch.ops.higher_order.";
  const std::string_view target = node.target;
  if (target.starts_with(kHigher)) {
    node.op = target.substr(kHigher.size());
  } else if (target.starts_with(kOps)) {
    const std::string_view rest = target.substr(kOps.size());
    const std::size_t space = rest.find('.'), overload = rest.rfind('.');
    node.op = absl::StrCat(std::string(rest.substr(0, space)), "::",
                           std::string(overload > space ? rest.substr(space + 1, overload - space - 1)
                                                        : rest.substr(std::min(space, rest.size()))));
    if (overload != rest.npos && overload > space) node.overload = rest.substr(overload + 1);
  } else {
    node.op = target;
  }
}

class ProgramReader {
 public:
  Program read(const Json& json) {
    Program program;
    program.torch_version = text_or_empty(json, "torch_version");
    if (const Json* const version = reading.object(json, "schema_version", "")) {
      program.schema_major = reading.number(*version, "major", "schema_version");
      program.schema_minor = reading.number(*version, "minor", "schema_version");
    }
    // Another version may mean something else by its fields, so nothing in it is a complaint.
    if (!reading.wrong().empty() || program.schema_major != kSchemaMajor) return program;
    const std::string place = "graph_module";
    const Json* const module = reading.object(json, "graph_module", "");
    const Json* const graph = module == nullptr ? nullptr : reading.object(*module, "graph", place);
    if (graph == nullptr) return program;
    read_graph(*graph, place + ".graph", program.graph);
    read_origins(*module, program.graph);
    return program;
  }

  Reading reading;

 private:
  void read_graph(const Json& json, const std::string& place, Graph& graph) {
    if (const Json* const values = reading.object(json, "tensor_values", place)) {
      for (const auto& [name, meta] : values->items())
        graph.values[name] = value_of(meta, absl::StrCat(place, ".tensor_values.", name));
    }
    graph.inputs = boundary(json, "inputs", place);
    graph.outputs = boundary(json, "outputs", place);
    if (const Json* const nodes = reading.list(json, "nodes", place)) {
      graph.nodes.reserve(nodes->size());
      for (const Json& node : *nodes)
        graph.nodes.push_back(node_of(node, absl::StrCat(place, ".nodes[", graph.nodes.size(), "]")));
    }
  }

  Value value_of(const Json& meta, const std::string& place) {
    Value value;
    value.dtype = dtype_of(reading.number(meta, "dtype", place));
    if (const auto sizes = meta.find("sizes"); meta.is_object() && sizes != meta.end() && sizes->is_array())
      value.dimensions = sizes->size();
    if (const Json* const device = reading.object(meta, "device", place)) value.device = text_or_empty(*device, "type");
    return value;
  }

  // Returns one name for each input or output of a graph.
  std::vector<std::string> boundary(const Json& json, const char* key, const std::string& place) {
    std::vector<std::string> all;
    const Json* const list = reading.list(json, key, place);
    if (list == nullptr) return all;
    for (const Json& argument : *list) {
      std::vector<std::string> tensors = tensors_of(argument);
      if (tensors.empty()) tensors.emplace_back();
      all.insert(all.end(), tensors.begin(), tensors.end());
    }
    return all;
  }

  Node node_of(const Json& json, const std::string& place) {
    Node node;
    node.target = reading.text(json, "target", place);
    name_operator(node);
    node.name = json.is_object() ? text_or_empty(json, "name") : "";
    if (const Json* const inputs = reading.list(json, "inputs", place)) {
      for (const Json& input : *inputs)
        node.arguments.push_back(argument_of(input, absl::StrCat(place, ".inputs[", node.arguments.size(), "]")));
    }
    node.outputs = boundary(json, "outputs", place);
    if (const auto metadata = json.is_object() ? json.find("metadata") : json.end();
        metadata != json.end() && metadata->is_object())
      read_metadata(*metadata, node);
    return node;
  }

  Argument argument_of(const Json& json, const std::string& place) {
    Argument argument;
    if (json.is_object()) argument.name = text_or_empty(json, "name");
    const Json* const arg = reading.object(json, "arg", place);
    if (arg == nullptr) return argument;
    argument.tensors = tensors_of(*arg);
    for (const auto& [kind, value] : arg->items()) {
      if (kind == "as_scalar_type" && value.is_number_integer()) argument.dtype = dtype_of(value.get<std::int64_t>());
      if (kind == "as_string" && value.is_string()) argument.text = value.get<std::string>();
      if (kind == "as_bool" && value.is_boolean()) argument.flag = value.get<bool>();
      if (kind != "as_graph") continue;
      if (const Json* const graph = reading.object(value, "graph", place + ".arg.as_graph")) {
        argument.graph = std::make_unique<Graph>();
        read_graph(*graph, place + ".arg.as_graph.graph", *argument.graph);
      }
    }
    return argument;
  }

  static void read_metadata(const Json& metadata, Node& node) {
    const std::string modules = text_or_empty(metadata, "nn_module_stack");
    node.place = user_place(text_or_empty(metadata, "stack_trace"), modules);
    node.module_class = user_class(modules_of(modules));
    const std::string from = text_or_empty(metadata, "from_node");
    node.retraced = from.find("\"pass_name\": \"ExportedProgram.module()\"") != from.npos;
    node.from_region = node.retraced && from.find("\"target\": \"wrap_with_autocast\"") != from.npos;
  }

  static void read_origins(const Json& module, Graph& graph) {
    for (const std::string& name : graph.inputs) {
      if (const auto at = graph.values.find(name); at != graph.values.end()) at->second.origin = Origin::kInput;
    }
    const auto signature = module.find("signature");
    if (signature == module.end() || !signature->is_object()) return;
    const auto specs = signature->find("input_specs");
    if (specs == signature->end() || !specs->is_array()) return;
    for (const Json& spec : *specs) {
      for (const char* kind : {"parameter", "buffer", "tensor_constant"}) {
        if (!spec.is_object() || !spec.contains(kind) || !spec.at(kind).is_object()) continue;
        const auto arg = spec.at(kind).find("arg");
        const auto at = arg == spec.at(kind).end() ? graph.values.end() : graph.values.find(name_in(*arg));
        if (at != graph.values.end()) at->second.origin = Origin::kWeight;
      }
    }
  }
};

bool keep(int, Json::parse_event_t event, const Json& parsed) {
  return event != Json::parse_event_t::key || !parsed.is_string() ||
         std::find(kPassedOver.begin(), kPassedOver.end(), parsed.get_ref<const std::string&>()) == kPassedOver.end();
}

}  // namespace

const Argument* Node::argument(std::string_view wanted) const {
  const auto at = std::find_if(arguments.begin(), arguments.end(),
                               [&](const Argument& argument) { return argument.name == wanted; });
  return at == arguments.end() ? nullptr : &*at;
}

const Value* Graph::value(const std::string& name) const {
  const auto at = values.find(name);
  return at == values.end() ? nullptr : &at->second;
}

absl::StatusOr<Program> read_program(std::string_view json, std::string name) {
  if (const std::string_view beyond = beyond_bounds(json); !beyond.empty())
    return absl::InvalidArgumentError(std::string(beyond));
  const Json parsed = Json::parse(json.begin(), json.end(), keep, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return absl::DataLossError("it is not JSON, or was cut short");
  ProgramReader reader;
  if (!parsed.is_object()) return absl::InvalidArgumentError("it is not a JSON object");
  Program program = reader.read(parsed);
  program.name = std::move(name);
  if (reader.reading.wrong().empty()) return program;
  return absl::InvalidArgumentError(absl::StrCat("it is not what torch.export writes: ", reader.reading.wrong()));
}

}  // namespace castscope::exported
