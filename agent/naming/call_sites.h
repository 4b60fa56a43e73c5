// Leads from the return address of a cached_cast call to the operator and the argument that the call serves.
//
// All calls sit in functions that belong to one operator, except a few helpers shared by several (lists of tensors).
// The unwind entry of an address tells which function it lies in, and the dispatcher's tables tell which operator that
// function serves. For a shared helper the caller's address names the operator: its place on the stack is learned once
// by unwinding. One call site feeds one argument; the tensors seen there teach which one.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/machine/return_address.h"
#include "agent/memory/own_memory.h"
#include "agent/naming/definitions.h"
#include "agent/naming/return_addresses.h"

namespace castscope::agent {

struct CallSite {
  std::uint32_t id = 0;  // definition
  std::string op;        // "" = not known
  std::string argument;
  std::uint32_t position = lanes::kUnknownArgument;  // place of the argument in the schema
  bool learned = false;                              // the argument is known
  std::uint32_t code_address = 0;                    // string definition
};

class CallSites {
 public:
  explicit CallSites(Definitions& definitions) : definitions_(definitions) {}

  // The key of the present call. `known` belongs to the calling thread. `cfa` is the hook's canonical frame address
  // (__builtin_dwarf_cfa): the frames of its callers begin there.
  std::uint64_t key(ReturnAddresses& known, const void* return_address, const void* cfa) {
    const auto address = reinterpret_cast<std::uint64_t>(return_address);
    ReturnAddressEntry& e = entry_of(known, address);
    if (e.address != address) [[unlikely]]
      e = look(address, cfa);
    if (e.outer_offset == 0) [[likely]]
      return address;
    std::uint64_t outer;
    __builtin_memcpy(&outer, static_cast<const char*>(cfa) + e.outer_offset, sizeof outer);
    return address ^ (machine::unsigned_address(outer) * 0x9e3779b97f4a7c15u);
  }

  // Set where an enforced policy wants other casts than PyTorch's; valid once the key was asked for.
  static const enforce::OperatorPlan* plan(ReturnAddresses& known, const void* return_address) {
    return entry_of(known, reinterpret_cast<std::uint64_t>(return_address)).plan;
  }

  // The facts known of a key, made at first sight; `tensor` is the TensorImpl of the argument. Returns a copy.
  CallSite find(std::uint64_t key, const void* return_address, const void* tensor);
  // Called while operators are recorded: learns the argument of a call site that is not known yet.
  void learn(std::uint64_t key, const void* tensor);
  // Autocast is switched on: calls that follow should find operators recorded, however many passed before.
  void expect_calls();

 private:
  std::optional<CallSite> find_argument_of_ours(std::uint64_t key);
  ReturnAddressEntry look(std::uint64_t address, const void* cfa);
  void read_dispatcher_locked();
  bool learn_locked(CallSite& site, const void* tensor);
  std::string operator_on_stack(std::uint64_t address, const void* cfa, std::int64_t& outer_offset);

  Definitions& definitions_;
  std::atomic<bool> expected_{false};
  std::mutex mutex_;
  memory::OwnMap<std::uintptr_t, memory::OwnString> kernels_;  // function start → operator
  struct Address {
    std::int64_t outer_offset = 0;
    std::string op;  // set when the address alone names the operator
  };
  memory::OwnMap<std::uint64_t, Address> addresses_;
  memory::OwnMap<std::uint64_t, CallSite> sites_;
  memory::OwnTextMap<std::vector<std::string>> arguments_;
};

// "libtorch_cpu.so+0x12ab" for an address in the process.
std::string address_text(const void* address);

}  // namespace castscope::agent
