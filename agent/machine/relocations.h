// The kinds of relocations, as <elf.h> numbers them for each architecture.
#pragma once

#include <elf.h>

#include <cstdint>

namespace castscope::machine {

// Returns true if the loader writes the symbol's address itself into the word, and no sum of it and something else.
constexpr bool is_whole_address(std::uint64_t kind, std::int64_t addend) {
#if defined(__x86_64__)
  return kind == R_X86_64_JUMP_SLOT || kind == R_X86_64_GLOB_DAT || (kind == R_X86_64_64 && addend == 0);
#elif defined(__aarch64__)
  return addend == 0 && (kind == R_AARCH64_JUMP_SLOT || kind == R_AARCH64_GLOB_DAT || kind == R_AARCH64_ABS64);
#else
#error "castscope knows the kinds of relocations of x86-64 and 64-bit ARM only"
#endif
}

}  // namespace castscope::machine
