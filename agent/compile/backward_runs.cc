#include "agent/compile/backward_runs.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "agent/compile/graph_work.h"
#include "agent/compile/graphs.h"
#include "agent/session/process.h"
#include "agent/torch/originals.h"

namespace castscope::compile {
namespace {

using agent::MayWait;
using agent::ThreadState;

// Most forwards that are kept for one thread. The oldest are forgotten, so that a job that never calls backward costs
// no more.
constexpr std::size_t kMostForwards = 1u << 16;

struct Forward {
  std::uint64_t sequence;  // sequence number of the first node that it may have made
  std::string id;
};

struct Forwards {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, std::deque<Forward>> by_thread;
};
Forwards& forwards() {
  static auto* const it = new Forwards;
  return *it;
}

using StepCallbacks = std::optional<at::StepCallbacks>;
using GetStepCallbacks = StepCallbacks (*)(at::RecordScope);

std::optional<std::string> region_of(const torch::autograd::Node& node) {
  std::lock_guard lock(forwards().mutex);
  const auto thread = forwards().by_thread.find(node.thread_id());
  if (thread == forwards().by_thread.end()) return std::nullopt;
  const auto& calls = thread->second;
  auto after = std::ranges::upper_bound(calls, node.sequence_nr(), {}, &Forward::sequence);
  if (after == calls.begin()) return std::nullopt;
  return std::prev(after)->id;
}

// Only a node that Python defined can belong to a compiled region, and only such nodes are asked for their name: asking
// takes the GIL, as the node itself is about to.
bool is_of_compiled(const MayWait&, const torch::autograd::Node& node) {
  static std::atomic<const void*> python_nodes{nullptr}, other{nullptr};
  const void* kind = *reinterpret_cast<const void* const*>(&node);
  if (kind != python_nodes.load(std::memory_order_relaxed)) {
    if (kind == other.load(std::memory_order_relaxed)) return false;
    const bool python = std::string_view(typeid(node).name()).find("PyNode") != std::string_view::npos;
    (python ? python_nodes : other).store(kind, std::memory_order_relaxed);
    if (!python) return false;
  }
  return node.name() == "CompiledFunctionBackward";
}

// Counts this run, and returns the region whose backward graph this thread is about to run; nullopt if the node belongs
// to no compiled region.
std::optional<std::string> node_runs(const MayWait& may_wait) noexcept try {
  const auto node = torch::autograd::get_current_node();
  if (node == nullptr || !is_of_compiled(may_wait, *node)) return std::nullopt;
  ThreadState* t = agent::g_process.silent() ? nullptr : agent::thread_state();
  if (t == nullptr) return std::nullopt;
  auto id = region_of(*node);
  if (id) graph_runs(*t, *id, Part::kBackward);
  return id;
} catch (const std::exception&) {  // out of memory: this run is not counted
  return std::nullopt;
}

// Lives while the node is evaluated.
class RunsBackward : public at::ObserverContext {
 public:
  RunsBackward(ThreadState& t, std::string_view id) : work_(t, id, Part::kBackward) {}

 private:
  const GraphWork work_;
};

std::unique_ptr<at::ObserverContext> backward_begins(const at::RecordFunction&) {
  const auto node = torch::autograd::get_current_node();
  ThreadState* t = agent::thread_slot();
  if (node == nullptr || t == nullptr) return nullptr;
  const auto id = region_of(*node);
  return id ? std::make_unique<RunsBackward>(*t, *id) : nullptr;
}

// Every evaluation of a node begins with it (torch/csrc/autograd/function.h, Node::operator()). So does every call of
// an operator, where it costs one comparison.
StepCallbacks step_callbacks(at::RecordScope scope) {
  const bool runs = scope == at::RecordScope::BACKWARD_FUNCTION && node_runs(MayWait::before_original()).has_value();
  StepCallbacks callbacks = agent::original<GetStepCallbacks>(CASTSCOPE_HOOK_STEP_CALLBACKS)(scope);
  if (!runs || !gpu::timing()) [[likely]]
    return callbacks;
  if (!callbacks) callbacks = at::getStepCallbacks(scope);
  callbacks->callbacks_.push_back({&backward_begins, nullptr});
  return callbacks;
}

// Called at the first call of a region that may have a backward pass.
void watch_nodes() {
  static std::atomic<bool> watched{false};
  if (watched.load(std::memory_order_relaxed) || agent::g_originals[CASTSCOPE_HOOK_STEP_CALLBACKS] == nullptr ||
      watched.exchange(true))
    return;
  agent::put_hook(CASTSCOPE_HOOK_STEP_CALLBACKS, reinterpret_cast<void*>(&step_callbacks));
}

}  // namespace

void expect_backward_of(std::string_view id) try {
  if (!has_backward(id)) return;
  watch_nodes();
  const std::uint64_t sequence = at::sequence_number::peek();
  std::lock_guard lock(forwards().mutex);
  auto& calls = forwards().by_thread[at::RecordFunction::currentThreadId()];
  if (!calls.empty() && calls.back().sequence == sequence) calls.pop_back();  // that call made no node
  calls.push_back({sequence, std::string(id)});
  if (calls.size() > kMostForwards) calls.pop_front();
} catch (const std::exception&) {  // out of memory
}

bool in_backward_graph(const MayWait& may_wait) noexcept try {
  const auto node = torch::autograd::get_current_node();
  return node != nullptr && is_of_compiled(may_wait, *node);
} catch (const std::exception&) {
  return false;
}

void hold_backward_runs() { forwards().mutex.lock(); }
void release_backward_runs() { forwards().mutex.unlock(); }

}  // namespace castscope::compile
