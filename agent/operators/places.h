// Leads from the facts of an operator's use to its definition and its counter.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "agent/memory/own_memory.h"
#include "agent/operators/operator_info.h"
#include "agent/operators/producers.h"
#include "agent/session/process.h"

namespace castscope::operators {

// A tensor argument as it was when the operator was called. The tensor is only good for comparing: an operator that is
// called boxed may let go of its arguments before it returns.
struct GivenTensor {
  Identity identity{};
  Producer producer;
  std::uint8_t argument = 0, dtype = 0;
  std::uint8_t flags = 0;  // lanes::kOperand…
  bool leaf = true, view = false, parameter = false;
  bool elsewhere = false;          // on another kind of device than the first tensor
  std::uint8_t inside = kNoDtype;  // its dtype in the operator's second call, by its autocast kernel
  // Set where a script's graph cast the tensor for this operator: its dtype now; `dtype` and the rest tell what it was
  // before.
  std::uint8_t cast_by_script = kNoDtype;

  // The dtype in which the operator gets it.
  std::uint8_t arrives() const { return cast_by_script == kNoDtype ? dtype : cast_by_script; }
  // The dtype to which autocast cast it, whichever autocast that was; kNoDtype: no autocast was at work.
  std::uint8_t entered(bool second_call) const { return second_call && inside != kNoDtype ? inside : cast_by_script; }

  std::uint64_t pack() const {
    const auto from = producer.use == 0 ? 0u : producer.phase == lanes::Phase::kBackward ? 1u : 2u;
    return std::uint64_t{dtype} | std::uint64_t{flags} << 6 |
           (std::uint64_t{leaf} | std::uint64_t{view} << 1 | std::uint64_t{parameter} << 2) << 9 | from << 12 |
           std::uint64_t{elsewhere} << 14;
  }
};

struct PlaceKey {
  std::uint64_t stack = 0;
  const void* module = nullptr;
  const OperatorInfo* info = nullptr;
  std::uint32_t region = 0, node = 0;
  std::uint64_t more = 0;                  // phase, device, grad mode, how many tensors
  std::array<std::uint64_t, 2> tensors{};  // GivenTensor::pack, 16 bits each
  std::uint64_t arguments = 0;             // their positions, 8 bits each
  bool operator==(const PlaceKey&) const = default;
};
struct PlaceHash {
  std::size_t operator()(const PlaceKey& k) const;
};

// The outcome of a call, known when it ends.
struct Outcome {
  std::uint8_t computed = kNoDtype, result = kNoDtype, device = 0;
  std::uint16_t flags = 0;
  std::uint64_t entered = ~std::uint64_t{0};  // lanes::Operand::entered, 8 bits each
  bool operator==(const Outcome&) const = default;
};

// Tells whether the module at an address is the one that was named (module_names.h).
class ModuleReference {
 public:
  explicit ModuleReference(const agent::PyObject* weakref) : weakref_(weakref) {}
  ~ModuleReference();
  ModuleReference(const ModuleReference&) = delete;
  ModuleReference& operator=(const ModuleReference&) = delete;
  bool is(const void* module) const { return agent::ModuleNames::same(weakref_, module); }

 private:
  const agent::PyObject* const weakref_;
};

struct Place {
  lanes::OperatorUseDefinition use{};  // everything except the outcome
  std::array<lanes::Operand, lanes::kMostOperands> operands{};
  std::shared_ptr<const ModuleReference> module;
  lanes::FactKind scaling{};  // the fact that is told of each call: regions/scaling.h
  struct Use {
    Outcome outcome;
    std::uint32_t id;
    lanes::Counter* counter;  // nullptr: there was no room for one
  };
  memory::OwnVector<Use> uses;  // as a rule only one
};

// The places that one thread has met. Every function may throw std::bad_alloc.
class Places {
 public:
  // The table is emptied at this size, for a thread that calls the same lines with ever new modules.
  static constexpr std::size_t kMost = 100'000;

  // Empties the table when it is large; call it while no operator is open. All of it would be found again.
  void make_room();
  // The place stays until make_room().
  Place& find(const agent::MayWait& may_wait, agent::ThreadState& t, const PlaceKey& key, const GivenTensor* given,
              std::size_t n);
  Place::Use& use(agent::ThreadState& t, Place& place, const Outcome& outcome);
  // Counts that `from` gave argument `to_argument` of `to`.
  void flow(agent::ThreadState& t, std::uint32_t from, std::uint32_t to, std::uint8_t argument, std::uint8_t cast_to);
  // Names the lines of this stack's code, unless they were named before.
  void know_stack(const agent::MayWait& may_wait, agent::ThreadState& t, std::uint64_t hash);

 private:
  struct FlowKey {
    std::uint32_t from, to;
    std::uint16_t how;
    bool operator==(const FlowKey&) const = default;
  };
  struct FlowHash {
    std::size_t operator()(const FlowKey& k) const;
  };
  memory::OwnMap<PlaceKey, Place, PlaceHash> places_;
  memory::OwnMap<FlowKey, lanes::Counter*, FlowHash> flows_;
  memory::OwnMap<std::uint64_t, std::uint32_t> stacks_;
};

// How many places this process has named so far, of all threads.
std::uint64_t places_named();
// Returns whether castscope has looked at an operator that was called from this Python stack, in this module.
bool is_known_code(std::uint64_t stack, const void* module);

// Called in a forked child, whose numbers are its own.
void places_after_fork();

// The fields of PlaceKey::more.
struct More {
  lanes::Phase phase{};
  std::uint8_t device = 0;
  bool grad_mode = false;
  std::uint8_t count = 0;
  std::uint64_t pack() const {
    return static_cast<std::uint64_t>(phase) | std::uint64_t{device} << 8 | std::uint64_t{grad_mode} << 16 |
           std::uint64_t{count} << 24;
  }
  static More of(std::uint64_t packed) {
    return {static_cast<lanes::Phase>(packed & 0xff), static_cast<std::uint8_t>(packed >> 8), (packed >> 16 & 1) != 0,
            static_cast<std::uint8_t>(packed >> 24)};
  }
};

}  // namespace castscope::operators
