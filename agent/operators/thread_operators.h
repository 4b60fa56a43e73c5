// The operators that a thread is in the midst of. Begins and ends come in pairs: PyTorch calls the end of everything
// whose begin it called, whatever was switched meanwhile; only a fork leaves ends without begins.
#pragma once

#include <array>
#include <cstdint>

#include "agent/gpu/gpu.h"
#include "agent/matmuls/matmuls.h"
#include "agent/memory/own_memory.h"
#include "agent/operators/counting.h"
#include "agent/operators/places.h"
#include "agent/session/thread_state.h"

namespace castscope::operators {

// An outermost operator: one that Python, a backward node, or C++ outside any operator called.
struct OpenUse {
  const OperatorInfo* info = nullptr;
  Place* place = nullptr;  // nullptr: the use is not counted
  std::array<GivenTensor, lanes::kMostOperands> given;
  std::uint8_t n = 0;
  std::uint8_t device = 0;               // device of the first tensor
  bool may_be_cast = false;              // an autocast kernel, which is in force, may cast for it
  bool second_call = false;              // the autocast kernel has called the operator again
  std::uint8_t dtype_inside = kNoDtype;  // the dtype argument of that second call
  bool grad_mode = false, others_open = false;
  bool script = false;                 // TorchScript's interpreter called it
  std::int64_t most_elements = 0;      // elements of the largest argument
  ValueSample integers;                // of an argument that gets the dtype of a half, if the result is in one
  Counting counting;                   // what arange or linspace counts
  const void* python_frame = nullptr;  // the frame that called it
  c10::DispatchKeySet keys;            // dispatch keys of the first tensor
  std::uint64_t begin = 0;
  gpu::Work work;           // times what it launches
  std::size_t matmuls = 0;  // index into ThreadOperators::matmuls at which its own begin
};

class ThreadOperators final : public agent::KeptByFeature {
 public:
  static constexpr std::uint32_t kMostDepth = 256;  // nested operators and nodes; deeper ones are not looked at
  static constexpr int kMostUses = 16;              // outermost operators within each other, through nodes between them
  static constexpr int kOutside = -1;               // in no operator
  static constexpr int kUnknown = -2;               // in an operator whose begin was not looked at

  struct Frame {
    std::int8_t enclosing;  // open before this one: index into uses, kOutside, kUnknown
    bool is_use;            // whether it opens uses[used - 1]
    std::uint32_t node;
  };

  std::uint32_t depth = 0;
  std::array<Frame, kMostDepth> frames;
  std::array<OpenUse, kMostUses> uses;
  int used = 0;
  int enclosing = kOutside;
  std::uint32_t node = 0;                   // string: the backward node that is running
  std::uint64_t stretch = 0, session = 0;   // the deep step that this thread looks at, and its switching on
  std::uint64_t looked = 0, operators = 0;  // not yet added to the segment's totals
  bool infinite = false;  // whether the last number beside a single tensor was infinite, as in max_norm / norm
  Places places;
  Producers producers;
  matmuls::ThreadMatmuls matmuls;
  memory::OwnMap<const c10::FunctionSchema*, const OperatorInfo*> infos;
  memory::OwnMap<std::size_t, std::uint32_t> node_kinds;  // BackwardNode::kind → string
};

// nullptr: this thread has met no operator yet.
inline ThreadOperators* known_operators(const agent::ThreadState& t) {
  return static_cast<ThreadOperators*>(t.operators.get());
}

}  // namespace castscope::operators
