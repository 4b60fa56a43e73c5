// Cells of notebooks, and lines that are typed into IPython: they have no file that people know, but a number.
#pragma once

#include <string>
#include <string_view>

#include "agent/cpython/python_api.h"

namespace castscope::agent {

// IPython or its kernel compiled code under this name: "<ipython-input-2-…>", "/tmp/ipykernel_71/2483.py".
bool is_cell(std::string_view file);

// Returns "In [2]", as the notebook shows it; the file itself where nobody knows the number. A cell that was run again
// has a new number; code keeps the number that its cell had when it was compiled.
std::string name_of_cell(const HeldGil& gil, const PythonApi& py, const std::string& file);

}  // namespace castscope::agent
