// The processor's own counter of time, which is read without a call.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace castscope::machine {

enum class Counter : std::uint8_t { kTsc, kGenericTimer };

#if defined(__x86_64__)

inline constexpr Counter kCounter = Counter::kTsc;

inline std::uint64_t ticks() { return __rdtsc(); }
// Returns true if the processor promises that its counter runs at one rate, and reads the same on all cores: bit 8 of
// EDX in CPUID leaf 0x80000007.
inline bool ticks_are_steady() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
}

#elif defined(__aarch64__)

inline constexpr Counter kCounter = Counter::kGenericTimer;

// CNTVCT_EL0, which the architecture wants to be steady, and Linux lets everybody read. It has 1 GHz from ARMv8.6 on
// (Grace), and down to some 25 MHz before.
inline std::uint64_t ticks() {
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
}
inline bool ticks_are_steady() { return true; }

#else
#error "castscope knows the counters of x86-64 and 64-bit ARM only"
#endif

}  // namespace castscope::machine
