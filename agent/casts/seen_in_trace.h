// A conversion of a tensor without values, for torch.compile.
#pragma once

#include <cstdint>

namespace castscope::agent {

// A tensor without values was converted while code was traced.
struct SeenInTrace {
  bool users = false;  // by code, not by autocast
  std::uint8_t from = 0, to = 0, device = 0;
  std::uint32_t region = 0;
  std::uint64_t call_site = 0;  // for a cast by autocast: its key, and its caller
  const void* caller = nullptr;
  const void* tensor = nullptr;
  bool requires_grad = false, leaf = true, view = false, parameter = false, grad_mode = true;
  bool subclass = false;  // is_traced_subclass
};

}  // namespace castscope::agent
