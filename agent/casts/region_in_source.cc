#include "agent/casts/region_in_source.h"

#include <c10/core/DeviceType.h>

#include "agent/cpython/python_snippet.h"
#include "agent/session/process.h"

namespace castscope::agent {
namespace {

// A region holds for a line if it begins within the function that the line is in, or decorates that function.
constexpr const char* kDisabledRegion = R"py(
import ast, functools, tokenize


@functools.lru_cache(maxsize=4)
def tree(file):
    try:
        with tokenize.open(file) as text:
            return ast.parse(text.read())
    except (OSError, SyntaxError, ValueError):
        return None


def constant(node):
    return node.value if isinstance(node, ast.Constant) else None


def is_off(call, device):
    """None: no autocast, or that of another device, or not known."""
    name = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
    if name.rpartition(".")[2] != "autocast":
        return None
    given = {word.arg: word.value for word in call.keywords}
    values = list(call.args)
    own = "cuda" if ".cuda." in "." + name else "cpu" if ".cpu." in "." + name else None
    if own is None and not (values and isinstance(constant(values[0]), bool)):
        own = constant(values.pop(0) if values else given.get("device_type"))
        values = values[1:]
    if isinstance(own, str) and own.partition(":")[0] != device:
        return None
    enabled = given.get("enabled", values[0] if values else ast.Constant(True))
    return not enabled.value if isinstance(enabled, ast.Constant) else "unknown"


def spans(node, line):
    return node.lineno <= line <= node.end_lineno


def name_of(function):
    return getattr(function, "name", "<lambda>")


def region_of(file, line, function, device):
    """Of the innermost region around this line in its function: line and whether autocast is off; None without one."""
    around = [node for node in ast.walk(tree(file) or ast.Module([], [])) if hasattr(node, "lineno") and spans(node, line)]
    functions = [node for node in around if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))]
    function = function.rpartition(".")[2]
    if functions and (function == "<lambda>" or not function.startswith("<")):
        functions = [node for node in functions if name_of(node) == function]
        if not functions:
            raise LookupError("the source is not what was traced")
    inner = max(functions, key=lambda node: (node.lineno, -node.end_lineno), default=None)
    calls = [(call.lineno, call) for call in getattr(inner, "decorator_list", [])]
    for node in around:
        within = isinstance(node, (ast.With, ast.AsyncWith)) and node.body[0].lineno <= line
        if within and (inner is None or node.lineno >= inner.lineno):
            calls += [(node.lineno, item.context_expr) for item in node.items]
    known = [(at, off) for at, call in calls for off in [is_off(call, device)] if off is not None]
    return max(reversed(known), key=lambda region: region[0], default=None)


def disabled(lines, device):
    for line in lines.split("\x1e"):
        file, number, function = line.split("\x1f")
        try:
            region = region_of(file, int(number), function, device)
        except LookupError:
            return []
        if region is not None:
            return [file, region[0], ""] if region[1] is True else []
    return []
)py";

Snippet g_disabled{kDisabledRegion, "disabled"};

// PyTorch's own modules open no regions, and are long.
std::string text_of_lines(const std::vector<CodeLine>& lines) {
  Definitions& definitions = g_process.recording.load()->definitions;
  std::string text;
  for (const CodeLine& line : lines)
    if (!definitions.is_in_torch(line.file))
      text += (text.empty() ? "" : "\x1e") + line.file + "\x1f" + std::to_string(line.line) + "\x1f" + line.function;
  return text;
}

}  // namespace

CodeLine disabled_in_source(const MayWait& may_wait, const std::vector<CodeLine>& lines, std::uint8_t device) {
  const PythonApi& py = g_process.python;
  const std::string text = text_of_lines(lines);
  if (!g_process.has_python || text.empty()) return {};
  Gil gil(may_wait, py);
  if (!gil.held()) return {};
  KeepError keep(gil, py);
  const std::string name = c10::DeviceTypeName(static_cast<c10::DeviceType>(device), true);
  PyObject* answer = g_disabled.call(gil, py, "(ss)", text.c_str(), name.c_str());
  if (answer == nullptr) return {};
  const std::vector<CodeLine> found = frames_of(gil, py, answer);
  py.dec_ref(answer);
  py.clear_error();
  return found.empty() ? CodeLine{} : found.front();
}

}  // namespace castscope::agent
