#include "agent/naming/notebook_cells.h"

#include "agent/cpython/python_snippet.h"

namespace castscope::agent {
namespace {

constexpr std::string_view kInput = "<ipython-input-";

// ipykernel names a cell after its text. IPython's compiler knows which number that text had when it last ran.
constexpr const char* kNumberOfCell = R"py(
import sys


def number_of_cell(file):
    shell = sys.modules["IPython"].get_ipython()
    label, name = shell.compile.format_code_name(file)
    return (int(name[3:-1]) if label == "Cell" and name.startswith("In[") else 0,)
)py";

Snippet g_number_of_cell{kNumberOfCell, "number_of_cell"};

// The digits behind kInput; 0 where there are none.
long number_in_name(std::string_view file) {
  long number = 0;
  for (const char c : file.substr(kInput.size())) {
    if (c < '0' || c > '9' || number > 1'000'000'000) break;
    number = 10 * number + (c - '0');
  }
  return number;
}

long number_from_compiler(const HeldGil& gil, const PythonApi& py, const std::string& file) {
  PyObject* answer = g_number_of_cell.call(gil, py, "(s)", file.c_str());
  if (answer == nullptr) return 0;
  const long number = Snippet::number(gil, py, answer, 0);
  py.dec_ref(answer);
  py.clear_error();
  return number;
}

}  // namespace

bool is_cell(std::string_view file) {
  return file.starts_with(kInput) || (file.find("/ipykernel_") != file.npos && file.ends_with(".py"));
}

std::string name_of_cell(const HeldGil& gil, const PythonApi& py, const std::string& file) {
  const long number = file.starts_with(kInput) ? number_in_name(file) : number_from_compiler(gil, py, file);
  return number > 0 ? "In [" + std::to_string(number) + "]" : file;
}

}  // namespace castscope::agent
