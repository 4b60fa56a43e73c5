// Leads from nodes and ranges of TorchScript source to lines of code.
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

// The range in Python from which a range of a saved program was compiled; for other ranges the range itself.
torch::jit::SourceRange original_range(const torch::jit::SourceRange&);

// Looks whether the source is in the file that PyTorch names for it (misplaced.h).
void look_at_file(const torch::jit::SourceRange&);
// Whether the range belongs to a program that was saved.
bool is_loaded(const torch::jit::SourceRange&);
// Whether its source is the Python stack that a tracer wrote down.
bool is_traced(const torch::jit::SourceRange&);
// Appends the lines that a range in `function` stands for, innermost first: one, or the stack that a traced node
// remembers.
void append_frames(const torch::jit::SourceRange&, std::string_view function, std::vector<CodeLine>&);

// The place of a node: its own range, then those of the calls that were inlined around it, in the order in which the
// interpreter would tell them.
std::vector<torch::jit::StackEntry> chain_of(const torch::jit::Node&);
std::vector<CodeLine> frames_of(const std::vector<torch::jit::StackEntry>&);

}  // namespace castscope::script
