#include "server/rules/evidence/operators/mode_of.h"

#include <algorithm>

#include "server/rules/evidence/places/places.h"

namespace castscope::rules {

std::optional<Mode> mode_of(const store::RunData& data, const store::OperatorUse& use) {
  if (use.is(lanes::kUseCompiled)) return Mode::kCompile;
  if (use.is(lanes::kUseTracing)) return std::nullopt;
  if (use.is(lanes::kUseScript)) return use.is(lanes::kUseTraced) ? Mode::kTrace : Mode::kScript;
  if (use.stack == 0) return Mode::kEager;
  if (is_within_torch(data, use.stack, "_inductor/")) return std::nullopt;
  const auto runs_in = [&](const char* graph) {
    return std::ranges::any_of(data.stacks[use.stack].frames,
                               [&](const store::CodeLocation& frame) { return frame.file == graph; });
  };
  // A program that is exported and then compiled counts as compiled. Compilers that run the graphs of AOTAutograd
  // operator by operator run them in modules of their own.
  const bool compiled = runs_in(lanes::kCompiledGraph) ||
                        (runs_in(lanes::kGraphModule) && is_within_torch(data, use.stack, "_functorch/_aot_autograd"));
  return compiled ? Mode::kCompile : runs_in(lanes::kExportedProgram) ? Mode::kExport : Mode::kEager;
}

}  // namespace castscope::rules
