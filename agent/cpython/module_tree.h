// The tree of modules below one module: what its `named_modules()` walks, read through the C API.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "agent/cpython/python_api.h"
#include "agent/memory/own_memory.h"

namespace castscope::agent {

// The walk goes no deeper where a path would become longer than this.
inline constexpr std::size_t kLongestPath = 4096;

struct ModuleTree {
  std::uint64_t shape = 0;              // a hash of all modules, their classes, and the names that lead to them
  memory::OwnSet<const void*> modules;  // the modules that were met
};
// Visits each module once, before those below it; the root has the path "". Without `visit` no paths are made; the
// walk ends where `visit` returns false.
using VisitModule = std::function<bool(PyObject* module, const std::string& path)>;
ModuleTree walk_modules(const HeldGil& gil, const PythonApi& api, PyObject* root, const VisitModule& visit = {});

}  // namespace castscope::agent
