// The autograd node that the calling thread evaluates.
#pragma once

#include <string>

namespace castscope::observe {

std::string backward_node_name();  // "ToCopyBackward0"; "" outside backward
// Tells kinds of nodes apart without naming them: the address of the node's vtable; 0 outside backward.
std::size_t backward_node_kind();

}  // namespace castscope::observe
