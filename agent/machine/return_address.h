// Where return addresses stand on the stack, and what they are made of.
#pragma once

#include <cstdint>

namespace castscope::machine {

// A return address on the stack without its signature: pointer authentication signs it with the stack's address.
inline std::uint64_t unsigned_address(std::uint64_t address) {
#if defined(__aarch64__)
  register std::uint64_t x30 asm("x30") = address;
  asm("hint #7" : "+r"(x30));  // xpaclri, which processors without signatures pass over
  return x30;
#else
  return address;
#endif
}

// Where on the stack the return address `address` of a running function stands, whose canonical frame address is `cfa`.
// Below `begin` lie frames of functions that it called. nullptr: it is not known.
inline const char* place_of_return_address([[maybe_unused]] std::uint64_t address, [[maybe_unused]] const char* begin,
                                           const char* cfa) {
#if defined(__x86_64__)
  return cfa - sizeof(std::uint64_t);
#elif defined(__aarch64__)
  // Functions keep it beside the address of their caller's such pair, somewhere in their frame; x29 leads to the
  // latest.
  struct Frame {
    const Frame* caller;
    std::uint64_t return_address;
  };
  const auto* frame = static_cast<const Frame*>(__builtin_frame_address(0));
  for (const char* at = reinterpret_cast<const char*>(frame); at < cfa;) {
    if (at >= begin && unsigned_address(frame->return_address) == address)
      return reinterpret_cast<const char*>(&frame->return_address);
    const auto* next = reinterpret_cast<const char*>(frame->caller);
    if (next <= at || reinterpret_cast<std::uintptr_t>(next) % sizeof(std::uint64_t) != 0) return nullptr;
    frame = frame->caller;
    at = next;
  }
  return nullptr;
#else
#error "castscope knows the stacks of x86-64 and 64-bit ARM only"
#endif
}

}  // namespace castscope::machine
