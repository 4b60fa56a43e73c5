// The Python side of torch.compile: where code is being traced, and the structured log that carries the graphs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/cpython/code_line.h"
#include "agent/cpython/python_api.h"

namespace castscope::compile {

enum class Phase : std::uint8_t {
  kNone,           // nothing of torch.compile's
  kDynamo,         // Dynamo follows the user's code: every compilation does once, whatever is cached
  kGraph,          // AOTAutograd runs the graph
  kExport,         // torch.export runs the code, or AOTAutograd for it; the stack is that of the call that exports
  kExportedAgain,  // ExportedProgram.run_decompositions does: what the region casts now becomes a part of the program
};

// What is being compiled: CompileId as text ("0/0") and which attempt at it. Empty outside.
struct Compilation {
  std::string id;
  long attempt = 0;
};

struct Present {
  Phase phase = Phase::kNone;
  bool decomposed = false;  // PyTorch's own Python code for operators runs
  Compilation of;
  std::vector<CodeLine> stack;  // the user's, innermost first, up to the call that compiles and beyond
};

enum class Logged : std::uint8_t {
  kForwardGraph = 0,  // compiled, or found in a cache
  kBackwardGraph = 1,
  kStart = 2,          // Dynamo begins with a frame
  kDone = 3,           // text: "0/1 forward (train.py:12)", and ": GUARD" that failed where it is a recompilation
  kCacheBypassed = 4,  // text: the reason
  kInductorGraph = 5,  // of either pass, as inductor lowers it
};
// `stack`: of kDone and kCacheBypassed, the call that compiles. GIL held.
using Take = void (*)(const Compilation& of, Logged what, std::string_view text,
                      const std::vector<CodeLine>& stack) noexcept;

// What this thread is tracing; watches the log from then on. False, and nothing is known, where Python does not give
// it. GIL held; no exception is left behind.
bool ask(const observe::PythonApi& api, bool backward, Take take, Present& out);

}  // namespace castscope::compile
