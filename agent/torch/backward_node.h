// The autograd node that the calling thread evaluates.
#pragma once

#include <string>
#include <string_view>

namespace castscope::agent {

// A node's name as people know it: TorchScript's nodes have their namespace in the name.
inline std::string_view short_node_name(std::string_view name) {
  constexpr std::string_view kScript = "torch::jit::(anonymous namespace)::";
  return name.starts_with(kScript) ? name.substr(kScript.size()) : name;
}
std::string backward_node_name();  // "ToCopyBackward0"; "" outside backward
// Tells kinds of nodes apart without naming them: the address of the node's vtable; 0 outside backward.
std::size_t backward_node_kind();

}  // namespace castscope::agent
