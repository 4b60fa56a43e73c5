#include "agent/torchscript/interpreter_state.h"

#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <atomic>

#include "agent/cpython/python_stack.h"
#include "agent/torchscript/known_ranges.h"
#include "agent/torchscript/ranges.h"

namespace castscope::script {
namespace {

thread_local const Running* t_running = nullptr;
std::atomic<bool> g_in_use{false};

std::vector<torch::jit::StackEntry> entries() {
  if (t_running != nullptr && t_running->node != nullptr)
    return chain_of(*static_cast<const torch::jit::Node*>(t_running->node));
  return torch::jit::currentCallstack();
}

}  // namespace

const Running* running() { return t_running; }
void set_running(const Running* running) { t_running = running; }

bool in_use() { return g_in_use.load(std::memory_order_relaxed); }
void graph_is_prepared() { g_in_use.store(true, std::memory_order_relaxed); }

std::uint64_t call_chain_hash() {
  std::uint64_t hash = 0;
  for (const torch::jit::StackEntry& entry : entries())
    hash = agent::add_frame(hash, reinterpret_cast<std::uint64_t>(entry.range.source().get()),
                            std::uint64_t{entry.range.start()} << 32 ^ entry.range.end());
  return hash;
}

std::vector<CodeLine> call_chain() {
  const auto chain = entries();
  for (const torch::jit::StackEntry& entry : chain) keep(entry.range);
  return frames_of(chain);
}

bool at_traced_line() {
  const auto chain = entries();
  return !chain.empty() && is_traced(chain.front().range);
}

std::shared_ptr<const NodeNote> present_note() {
  const auto chain = entries();
  return chain.empty() ? nullptr : note_of(chain.front().range);
}

std::shared_ptr<const NodePlace> present_place() {
  const auto chain = entries();
  return chain.empty() ? nullptr : place_of(chain.front().range);
}

}  // namespace castscope::script
