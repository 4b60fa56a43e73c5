// The tree of modules below one: what `named_modules()` of it walks, read through the C API.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "agent/cpython/python_api.h"
#include "agent/memory/own_memory.h"

namespace castscope::observe {

// Paths do not get longer: where they would, the tree ends.
inline constexpr std::size_t kLongestPath = 4096;

struct ModuleTree {
  std::uint64_t shape = 0;              // a hash of all modules, their classes, and the names that lead to them
  memory::OwnSet<const void*> modules;  // those met
};
// Each module once, before those below it; the root has the path "". GIL held. Without `visit` paths are not made up;
// the walk ends where it says false.
using VisitModule = std::function<bool(PyObject* module, const std::string& path)>;
ModuleTree walk_modules(const PythonApi& api, PyObject* root, const VisitModule& visit = {});

}  // namespace castscope::observe
