// A program of torch.export as its file holds it: graphs of operators, with the dtypes that were recorded when it was
// made. The reader does not check that the parts agree: a name may refer to nothing, and dtypes may contradict each
// other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/exported/program/dtype.h"
#include "server/store/run/run_sink.h"

namespace castscope::exported {

enum class Origin : std::uint8_t { kComputed, kInput, kWeight };  // a weight: a parameter, buffer or constant

struct Value {  // a tensor
  Dtype dtype = Dtype::kUnknown;
  std::size_t dimensions = 0;
  std::string device;  // its type: "cpu", "cuda"
  Origin origin = Origin::kComputed;
};

struct Graph;

struct Argument {
  std::string name;                  // as the operator's schema has it; "" where the operator has no schema
  std::vector<std::string> tensors;  // one tensor, or those of a list; "" = None
  std::optional<Dtype> dtype;
  std::optional<std::string> text;
  std::optional<bool> flag;
  std::unique_ptr<Graph> graph;
};

// The program's record of a line of the user's own, as far as it still has one.
struct SourcePlace {
  store::CodeLocation at;
  std::string text;    // the text of the line when it was exported
  std::string module;  // "encoder.layers.0"; "" = the outermost one
};

struct Node {
  std::string target;    // "torch.ops.aten.linear.default"
  std::string op;        // "aten::linear"; "wrap_with_autocast" for higher-order ones; else the target
  std::string overload;  // "default"
  std::string name;      // in torch.fx; "" in older files
  std::vector<Argument> arguments;
  std::vector<std::string> outputs;  // tensors
  std::optional<SourcePlace> place;
  bool from_region = false;  // an operator of wrap_with_autocast, which was taken apart by run_decompositions
  bool retraced = false;     // by run_decompositions
  std::string module_class;  // "model.Net": the innermost module of the user's own around it

  const Argument* argument(std::string_view name) const;
};

struct Graph {
  std::vector<std::string> inputs, outputs;  // names of tensors; "" for what is not a tensor
  std::vector<Node> nodes;
  std::map<std::string, Value> values;

  const Value* value(const std::string& name) const;  // null = not known
};

struct Program {
  std::string name;           // "model"
  std::string torch_version;  // "2.13.0+cpu"; "" = the file does not say
  std::int64_t schema_major = 0, schema_minor = 0;
  Graph graph;
};

// A file with such programs in it.
struct Package {
  std::string file;
  std::vector<Program> programs;
  std::vector<std::string> not_seen;  // sentences about its other contents, which cannot be inspected
};

}  // namespace castscope::exported
