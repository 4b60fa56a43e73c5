// Finds the module that each node of a graph belongs to. A graph is one function with all that it calls put in its
// place; what is left of the modules are the attributes that are read of them, and the names by which methods were
// called.
//
// Source: inlineCallTo of torch/csrc/jit/ir/ir.cpp, which notes for each call the last attribute that led to the module
// ("0" for blocks.0): where the module's own attributes are read, the whole path is known.
#pragma once

#include <ATen/core/class_type.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/ir/scope.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/torchscript/node_facts.h"

namespace castscope::script {

class GraphModules {
 public:
  explicit GraphModules(torch::jit::Graph&);
  // nullptr: the node belongs to no module, as in a function.
  std::shared_ptr<const Module> of(const torch::jit::Node&) const;

 private:
  using Calls = std::vector<torch::jit::InlinedCallStackEntry>;
  struct Instance {
    std::string root_type, path;
    c10::ClassTypePtr type;
  };
  std::optional<Instance> instance_of(const torch::jit::Value*) const;
  void learn(torch::jit::Block&);
  void learn(torch::jit::Node&);
  std::optional<Instance> called(const Calls&, std::size_t n) const;

  const torch::jit::Graph& graph_;
  std::optional<Instance> root_;
  std::unordered_map<const torch::jit::InlinedCallStack*, Instance> by_call_;
  std::map<std::uint64_t, std::optional<Instance>> by_calls_;  // by a hash of the chain; empty where ambiguous
};

}  // namespace castscope::script
