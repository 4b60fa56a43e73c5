// Ranges of TorchScript source that we speak of, and what is known of the nodes that have them. What is kept here
// stays, so that no other source gets its address. All functions may be called by any thread.
#pragma once

#include <memory>

#include "agent/torchscript/node_facts.h"

namespace torch::jit {
struct SourceRange;
}

namespace castscope::script {

void keep(const torch::jit::SourceRange&);

// Its source is no code of the job's: what PyTorch itself wrote in TorchScript.
void mark_as_pytorchs(const torch::jit::SourceRange&);
bool is_pytorchs(const torch::jit::SourceRange&);

// A range that reads as `of` and is told from every other, for one node. `of` itself where too many are known.
torch::jit::SourceRange own_range(const torch::jit::SourceRange& of, NodeNote);
// For a node whose range is its own from the start, as every traced one's is.
void note(const torch::jit::SourceRange&, NodeNote);
std::shared_ptr<const NodeNote> note_of(const torch::jit::SourceRange&);  // nullptr: there is none

// The same for where a node stands, in these lines; its note stays.
torch::jit::SourceRange own_place(const torch::jit::SourceRange& of, const torch::jit::SourceRange& lines, NodePlace);
// `own_place` was given the lines that it was compiled from, of one that was saved and loaded.
bool was_loaded(const torch::jit::SourceRange&);
std::shared_ptr<const NodePlace> place_of(const torch::jit::SourceRange&);  // nullptr: there is none

// Around a fork, in the thread that forks; the end in parent and child.
void fork_begins();
void fork_ends();

}  // namespace castscope::script
