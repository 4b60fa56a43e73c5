// The operators that a thread is in the midst of. Begins and ends come in pairs: PyTorch calls the end of what it
// called the begin of, whatever was switched meanwhile; only a fork leaves ends without begins.
#pragma once

#include <array>
#include <cstdint>

#include "agent/gpu/gpu.h"
#include "agent/matmuls/matmuls.h"
#include "agent/memory/own_memory.h"
#include "agent/operators/places.h"
#include "agent/session/thread_state.h"

namespace castscope::operators {

// An outermost operator: one that Python, a backward node, or C++ outside any operator called.
struct OpenUse {
  const OperatorInfo* info = nullptr;
  Place* place = nullptr;  // nullptr: not to be counted
  std::array<GivenTensor, lanes::kMostOperands> given;
  std::uint8_t n = 0;
  std::uint8_t device = 0;               // of the first tensor
  bool may_be_cast = false;              // by an autocast kernel, which is in force
  bool second_call = false;              // the autocast kernel has called the operator again
  std::uint8_t dtype_inside = kNoDtype;  // the dtype argument of that
  bool grad_mode = false, others_open = false;
  bool script = false;                 // TorchScript's interpreter called it
  std::int64_t most_elements = 0;      // of an argument
  const void* python_frame = nullptr;  // that called it
  c10::DispatchKeySet keys;            // of the first tensor
  std::uint64_t begin = 0;
  gpu::Work work;           // what it launches is timed
  std::size_t matmuls = 0;  // in ThreadOperators::matmuls: where its own begin
};

class ThreadOperators final : public observe::KeptByFeature {
 public:
  static constexpr std::uint32_t kMostDepth = 256;  // of nested operators and nodes; deeper ones are not looked at
  static constexpr int kMostUses = 16;              // outermost operators in each other, through nodes between them
  static constexpr int kOutside = -1;               // in no operator
  static constexpr int kUnknown = -2;               // in one whose begin was not looked at

  struct Frame {
    std::int8_t enclosing;  // what was open: index into uses, kOutside, kUnknown
    bool is_use;            // opens uses[used - 1]
    std::uint32_t node;
  };

  std::uint32_t depth = 0;
  std::array<Frame, kMostDepth> frames;
  std::array<OpenUse, kMostUses> uses;
  int used = 0;
  int enclosing = kOutside;
  std::uint32_t node = 0;                   // string: the backward node that runs
  std::uint64_t stretch = 0, session = 0;   // the deep step that this thread looks at, since which switching on
  std::uint64_t looked = 0, operators = 0;  // not yet added to the segment's
  bool infinite = false;                    // the last number that stood beside a single tensor, as in max_norm / norm
  Places places;
  Producers producers;
  matmuls::ThreadMatmuls matmuls;
  memory::OwnMap<const c10::FunctionSchema*, const OperatorInfo*> infos;
  memory::OwnMap<std::size_t, std::uint32_t> node_kinds;  // backward_node_kind → string
};

// nullptr: this thread has met no operator yet.
inline ThreadOperators* known_operators(const observe::ThreadState& t) {
  return static_cast<ThreadOperators*>(t.operators.get());
}

}  // namespace castscope::operators
