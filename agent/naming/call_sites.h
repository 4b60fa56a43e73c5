// From the return address of a cached_cast call to the operator and the argument that it serves.
//
// All calls sit in functions that belong to one operator, except a few helpers shared by several (lists of tensors);
// which function an address lies in comes from its unwind entry, which operator a function serves from the
// dispatcher's tables. For a shared helper the caller's address names the operator: where it stands on the stack is
// learned once by unwinding. One call site feeds one argument; which one is learned from the tensors seen.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/memory/own_memory.h"
#include "agent/naming/definitions.h"
#include "agent/naming/return_addresses.h"

namespace castscope::observe {

struct CallSite {
  std::uint32_t id = 0;  // definition
  std::string op;        // "" = not known
  std::string argument;
  std::uint32_t position = lanes::kUnknownArgument;  // of it, in the schema
  bool learned = false;                              // the argument is known
  std::uint32_t code_address = 0;                    // string definition
};

class CallSites {
 public:
  explicit CallSites(Definitions& definitions) : definitions_(definitions) {}

  // The key of the present call. `known`: the calling thread's. `cfa` is the hook's canonical frame address
  // (__builtin_dwarf_cfa): the return address lies just below it.
  std::uint64_t key(ReturnAddresses& known, const void* return_address, const void* cfa) {
    const auto address = reinterpret_cast<std::uint64_t>(return_address);
    ReturnAddressEntry& e = entry_of(known, address);
    if (e.address != address) [[unlikely]]
      e = look(address, cfa);
    if (e.outer_offset == 0) [[likely]]
      return address;
    std::uint64_t outer;
    __builtin_memcpy(&outer, static_cast<const char*>(cfa) + e.outer_offset, sizeof outer);
    return address ^ (outer * 0x9e3779b97f4a7c15u);
  }

  // Where a policy that is enforced wants other casts than PyTorch; once the key was asked for.
  static const enforce::OperatorPlan* plan(ReturnAddresses& known, const void* return_address) {
    return entry_of(known, reinterpret_cast<std::uint64_t>(return_address)).plan;
  }

  // What is known of a key, made at first sight; `tensor` is the TensorImpl of the argument. A copy.
  CallSite find(std::uint64_t key, const void* return_address, const void* tensor);
  // While operators are being recorded: learn the argument of a call site that is not known yet.
  void learn(std::uint64_t key, const void* tensor);
  // Autocast is switched on: what is called now should find operators recorded, however many came by before.
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
    std::string op;  // when the address alone names it
  };
  memory::OwnMap<std::uint64_t, Address> addresses_;
  memory::OwnMap<std::uint64_t, CallSite> sites_;
  memory::OwnTextMap<std::vector<std::string>> arguments_;
};

// "libtorch_cpu.so+0x12ab" of an address in the process.
std::string address_text(const void* address);

}  // namespace castscope::observe
