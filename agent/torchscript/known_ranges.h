// The ranges of TorchScript source that we use, and what is known of the nodes that have them. Entries are kept for
// good, so that no other source gets their address. All functions may be called by any thread.
#pragma once

#include <memory>

#include "agent/torchscript/node_facts.h"

namespace torch::jit {
struct SourceRange;
}

namespace castscope::script {

void keep(const torch::jit::SourceRange&);

// Marks a source that is not code of the job's: PyTorch itself wrote it in TorchScript.
void mark_as_pytorchs(const torch::jit::SourceRange&);
bool is_pytorchs(const torch::jit::SourceRange&);

// A range that reads as `of` but differs from every other, for one node. Returns `of` itself where too many are known.
torch::jit::SourceRange own_range(const torch::jit::SourceRange& of, NodeNote);
// Notes facts for a node whose range is its own from the start, as every traced node's is.
void note(const torch::jit::SourceRange&, NodeNote);
std::shared_ptr<const NodeNote> note_of(const torch::jit::SourceRange&);  // nullptr: there is none

// The same for the place of a node, in these lines; its note stays.
torch::jit::SourceRange own_place(const torch::jit::SourceRange& of, const torch::jit::SourceRange& lines, NodePlace);
// Whether the range belongs to a program that was saved and loaded, for which own_place was given the lines that it was
// compiled from.
bool was_loaded(const torch::jit::SourceRange&);
std::shared_ptr<const NodePlace> place_of(const torch::jit::SourceRange&);  // nullptr: there is none

// Called around a fork: the begin in the thread that forks, the end in parent and child.
void fork_begins();
void fork_ends();

}  // namespace castscope::script
