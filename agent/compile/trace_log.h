// The Python side of torch.compile: where code is being traced, and the structured log that carries the graphs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/cpython/code_line.h"
#include "agent/cpython/python_api.h"

namespace castscope::compile {

enum class Phase : std::uint8_t {
  kNone,           // torch.compile is not at work
  kDynamo,         // Dynamo follows the user's code: every compilation does once, whatever is cached
  kGraph,          // AOTAutograd runs the graph
  kExport,         // torch.export runs the code, or AOTAutograd for it; the stack is that of the call that exports
  kExportedAgain,  // ExportedProgram.run_decompositions runs the code: what the region casts now becomes a part of the
                   // program
};

// The compilation in progress: CompileId as text ("0/0") and which attempt at it. Empty outside.
struct Compilation {
  std::string id;
  long attempt = 0;
};

struct Present {
  Phase phase = Phase::kNone;
  bool decomposed = false;  // PyTorch's own Python code for an operator is running
  Compilation of;
  std::vector<CodeLine> stack;  // the user's stack, innermost first, up to the call that compiles and beyond
};

enum class Logged : std::uint8_t {
  kForwardGraph = 0,  // compiled, or found in a cache
  kBackwardGraph = 1,
  kStart = 2,  // Dynamo begins with a frame
  kDone = 3,   // text: "0/1 forward (train.py:12)", followed by ": GUARD", the guard that failed, for a recompilation
  kCacheBypassed = 4,  // text: the reason
  kInductorGraph = 5,  // the graph of either pass, as Inductor lowers it
};
// `stack` of kDone and kCacheBypassed is the call that compiles.
using Take = void (*)(const agent::HeldGil& gil, const Compilation& of, Logged what, std::string_view text,
                      const std::vector<CodeLine>& stack) noexcept;

// Says what this thread is tracing, and watches the log from then on. Returns false, with nothing known, where Python
// does not tell. No exception is left behind.
bool ask(const agent::HeldGil& gil, const agent::PythonApi& api, bool backward, Take take, Present& out);

}  // namespace castscope::compile
