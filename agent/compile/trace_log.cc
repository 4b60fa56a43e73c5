#include "agent/compile/trace_log.h"

#include <exception>

#include "agent/cpython/python_snippet.h"
#include "agent/session/process.h"

namespace castscope::compile {
namespace {

using agent::HeldGil;
using agent::KeepError;
using agent::PyObject;
using agent::PythonApi;
using agent::Snippet;
using agent::text_of;

// Runs at each conversion of a tensor without values, which costs PyTorch itself a millisecond.
constexpr const char* kCompilation = R"py(
import json
import logging
import os
import sys
import torch

KINDS = {"aot_forward_graph": 0, "aot_inference_graph": 0, "aot_backward_graph": 1, "dynamo_start": 2,
         "compilation_metrics": 3, "aotautograd_cache_bypass": 4, "inductor_post_grad_graph": 5}
TORCH = os.path.dirname(torch.__file__) + "/"
OPERATORS = tuple(TORCH + part for part in ("_decomp/", "_refs/", "_prims/", "_prims_common/", "_meta_registrations.py"))


class Handler(logging.Handler):
    frozen = set()

    # Not `emit`: nothing is formatted, and no lock is needed.
    def handle(self, record):
        try:
            # What is new is an artifact with a name; what comes from a cache, or has been known for long, has a key.
            names = record.metadata.keys() | {record.metadata.get("artifact", {}).get("name")}
            for name in KINDS.keys() & names:
                self.give(name, record.metadata, record.payload or "")
        except Exception:
            pass

    def give(self, name, metadata, text):
        if metadata.get("compiled_autograd_id") is not None:
            return
        config = sys.modules.get("torch._inductor.config")
        compilation = f"{metadata.get('frame_id')}/{metadata.get('frame_compile_id')}"
        if name == "aot_inference_graph" and getattr(config, "freezing", False):
            self.frozen.add(compilation)  # weights are folded later: that graph is what runs
            return
        if name == "inductor_post_grad_graph":
            if compilation in self.frozen:
                self.frozen.discard(compilation)
                take(compilation, int(metadata.get("attempt", 0)), 0, text, [])
            if config.emulate_precision_casts:
                return
        if name == "compilation_metrics":
            text = metrics(metadata[name])
        if name == "aotautograd_cache_bypass":
            text = str(json.loads(text).get("cache_bypass_reason"))
        stack = walk()[2] if name in ("compilation_metrics", "aotautograd_cache_bypass") else []
        take(compilation, int(metadata.get("attempt", 0)), KINDS[name], text, stack)


def metrics(of):
    file, reason = os.path.basename(of.get("co_filename") or ""), of.get("recompile_reason")
    code = f"{of.get('co_name')} ({file}:{of.get('co_firstlineno')})"
    return f"{of.get('compile_id')} {code}" + (f": {' '.join(reason.split())}" if reason else "")


handler = Handler()


def watch():
    log = logging.getLogger("torch.__trace")
    if handler not in log.handlers:
        log.addHandler(handler)


def traceback_frames(text):
    frames = []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith('File "') and '", line ' in line:
            file, _, rest = line[6:].rpartition('", line ')
            number, _, function = rest.partition(", in ")
            frames[:0] = [file, int(number), function]
    return frames


def name_of(code):
    """Before Python 3.11 a code object knows its own name only."""
    return getattr(code, "co_qualname", code.co_name)


def function_of(name):
    """Of the rest of a function behind a graph break: that function."""
    resumed = name.removeprefix("torch_dynamo_resume_in_")
    return resumed if resumed == name else resumed.rpartition("_at_")[0]


def walk():
    """What is being traced, if anything, and the frames outside."""
    phase, decomposed, outer, exporting, again = 0, False, None, False, False
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(TORCH):
            part = file[len(TORCH):]
            if phase == 0:
                phase = 2 if part.startswith("_functorch/") else 1 if part == "_dynamo/symbolic_convert.py" else 0
                decomposed = decomposed or file.startswith(OPERATORS)
            if part.startswith(("_dynamo/", "export/")):
                outer = []
            exporting = exporting or part == "export/_trace.py"
            again = again or frame.f_code.co_name == "run_decompositions" and part == "export/exported_program.py"
        if outer is not None and not file.startswith((TORCH + "_dynamo/", TORCH + "export/", "<")):
            outer += (file, frame.f_lineno, function_of(name_of(frame.f_code)))
        frame = frame.f_back
    return 4 if again else 3 if exporting else phase, decomposed, outer or []


def present(backward):
    phase, decomposed, outer = walk()
    if phase >= 3:
        return (phase, int(decomposed), "", 0, outer)
    guards = sys.modules.get("torch._guards")
    trace = guards.CompileContext.current_trace_id() if guards is not None and phase else None
    if trace is None:
        return (0, 0, "", 0, [])
    watch()
    stack = []
    if phase == 1:
        for at in reversed(guards.TracingContext.extract_stack()):
            stack += (at.filename, at.lineno, function_of(at.name))
    elif backward:
        meta = sys.modules["torch.fx.traceback"]
        if meta.has_preserved_node_meta():
            stack = traceback_frames("".join(meta.format_stack()))
    return (phase, int(decomposed), str(trace.compile_id), trace.attempt, stack + outer)
)py";

Take g_take = nullptr;

// take(compile id, attempt, kind, text, frames), called by the handler.
PyObject* take_record(PyObject*, PyObject* arguments) {
  const PythonApi& py = agent::g_process.python;
  const HeldGil gil = HeldGil::of_caller();  // Python calls its extension functions with the GIL
  auto* none = static_cast<PyObject*>(py.none);
  py.inc_ref(none);
  if (py.tuple_size(arguments) != 5) return none;
  try {
    std::ptrdiff_t size = 0;
    const char* text = py.utf8(py.tuple_item(arguments, 3), &size);
    const Compilation of{text_of(gil, py, py.tuple_item(arguments, 0)), Snippet::number(gil, py, arguments, 1)};
    if (text != nullptr)
      g_take(gil, of, static_cast<Logged>(Snippet::number(gil, py, arguments, 2)),
             {text, static_cast<std::size_t>(size)}, agent::frames_of(gil, py, py.tuple_item(arguments, 4)));
  } catch (const std::exception&) {  // out of memory: this graph is not known
  }
  py.clear_error();
  return none;
}

agent::Method g_take_method{"take", &take_record, agent::kVarArgs, nullptr};
Snippet g_present{kCompilation, "present", &g_take_method};

}  // namespace

bool ask(const HeldGil& gil, const PythonApi& py, bool backward, Take take, Present& out) {
  KeepError keep(gil, py);
  g_take = take;
  PyObject* answer = g_present.call(gil, py, "(i)", backward ? 1 : 0);
  if (answer == nullptr) return false;
  try {
    out.phase = static_cast<Phase>(Snippet::number(gil, py, answer, 0));
    out.decomposed = Snippet::number(gil, py, answer, 1) != 0;
    out.of = {text_of(gil, py, py.tuple_item(answer, 2)), Snippet::number(gil, py, answer, 3)};
    out.stack = agent::frames_of(gil, py, py.tuple_item(answer, 4));
  } catch (const std::exception&) {
    out = {};
  }
  py.dec_ref(answer);
  py.clear_error();
  return true;
}

}  // namespace castscope::compile
