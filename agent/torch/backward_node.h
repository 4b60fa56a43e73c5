// The autograd node that the calling thread evaluates.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace castscope::agent {

// A node's name as people know it: TorchScript's nodes have their namespace in the name.
inline std::string_view short_node_name(std::string_view name) {
  constexpr std::string_view kScript = "torch::jit::(anonymous namespace)::";
  return name.starts_with(kScript) ? name.substr(kScript.size()) : name;
}
std::string backward_node_name();  // "ToCopyBackward0"; "" outside backward

// A node of autograd's graph, told apart from all others. The numbers of a thread's nodes only grow
// (torch/csrc/autograd/node.h); an address is given again.
struct NodeIdentity {
  const void* address = nullptr;  // nullptr: no node
  std::uint64_t sequence = 0;     // its number in the thread that made it
  std::uint64_t thread = 0;       // that thread's number
};
struct BackwardNode {
  NodeIdentity identity;
  std::size_t kind = 0;  // the address of the node's vtable: it tells kinds of nodes apart without naming them
};
BackwardNode backward_node();  // of none outside backward
// The node that made the tensor; none for a tensor without a history. `tensor`: TensorImpl*.
NodeIdentity node_that_made(const void* tensor);

}  // namespace castscope::agent
