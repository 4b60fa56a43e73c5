// From nodes and ranges of TorchScript source to lines of code.
#pragma once

#include <string_view>
#include <vector>

#include "agent/cpython/code_line.h"

namespace torch::jit {
struct Node;
struct SourceRange;
struct StackEntry;
}  // namespace torch::jit

namespace castscope::script {

// What was compiled from Python, for a range of a saved program; else the range itself.
torch::jit::SourceRange original_range(const torch::jit::SourceRange&);

// Looks whether the source is in the file that PyTorch names for it (misplaced.h).
void look_at_file(const torch::jit::SourceRange&);
// It is of a program that was saved.
bool is_loaded(const torch::jit::SourceRange&);
// Its source is the Python stack that a tracer wrote down.
bool is_traced(const torch::jit::SourceRange&);
// The lines that a range in `function` is, innermost first: one, or the stack that a traced node remembers.
void append_frames(const torch::jit::SourceRange&, std::string_view function, std::vector<CodeLine>&);

// Where a node stands: its own range, then those of the calls that were inlined around it, as the interpreter would
// tell them.
std::vector<torch::jit::StackEntry> chain_of(const torch::jit::Node&);
std::vector<CodeLine> frames_of(const std::vector<torch::jit::StackEntry>&);

}  // namespace castscope::script
