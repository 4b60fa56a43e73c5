#include "agent/naming/generated_code.h"

#include "agent/cpython/python_snippet.h"
#include "agent/lanes/definition_records.h"

namespace castscope::agent {
namespace {

constexpr const char* kLineOfGraph = R"py(
import sys


def frames(text):
    found = []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith('File "') and '", line ' in line:
            file, _, rest = line[6:].rpartition('", line ')
            number, _, function = rest.partition(", in ")
            found[:0] = [file, int(number), function]
    return found


def kind(module):
    if any(base.__module__.startswith("torch.export.") for base in type(module).__mro__):
        return 1
    return 2 if "dynamo_compile_id" in module.meta else 3


def line_of(module, line):
    fx = sys.modules.get("torch.fx")
    if fx is None or not isinstance(module, fx.GraphModule):
        return (0, [])
    at = (getattr(module, "_lineno_map", None) or {}).get(line - type(module).forward.__code__.co_firstlineno)
    nodes = list(module.graph.nodes) if at is not None else []
    return (kind(module), frames(nodes[at].meta.get("stack_trace") or "") if at is not None and at < len(nodes) else [])
)py";

Snippet g_line_of{kLineOfGraph, "line_of"};

std::string_view name_of(long kind) {
  return kind == 1   ? lanes::kExportedProgram
         : kind == 2 ? lanes::kCompiledGraph
         : kind == 3 ? lanes::kGraphModule
                     : std::string_view();
}

}  // namespace

bool is_generated_code(std::string_view file) { return file.starts_with("<eval_with_key>"); }

GeneratedLine line_of_graph(const HeldGil& gil, const PythonApi& py, const void* self, std::uint32_t line) {
  GeneratedLine found;
  if (self == nullptr) return found;
  KeepError keep(gil, py);
  PyObject* answer =
      g_line_of.call(gil, py, "(Oi)", static_cast<PyObject*>(const_cast<void*>(self)), static_cast<int>(line));
  if (answer == nullptr) return found;
  found.graph = name_of(Snippet::number(gil, py, answer, 0));
  found.lines = frames_of(gil, py, py.tuple_item(answer, 1));
  py.dec_ref(answer);
  py.clear_error();
  return found;
}

}  // namespace castscope::agent
