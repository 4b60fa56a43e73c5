// Functions of the C++ library that are newer than the one that PyTorch's wheels ask for, for the agent alone. Names
// are mangled ones: declarations of the C++ library would make the functions visible to others.
#include <stdlib.h>

#include <cstddef>
#include <new>
#include <sstream>
#include <string>

#include "agent/floor/own_versions.h"

#define CASTSCOPE_AS(name) __asm__(name) __attribute__((visibility("hidden"), used))

// Since GCC 7 (CXXABI_1.3.11): memory of what is aligned to more than 16 bytes. libstdc++, too, takes it by
// posix_memalign or a like, and gives it back by free.
void* castscope_new_aligned(std::size_t size, std::size_t alignment) CASTSCOPE_AS("_ZnwmSt11align_val_t");
void* castscope_new_aligned(std::size_t size, std::size_t alignment) {
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, size == 0 ? 1 : size) != 0)
    throw std::bad_alloc();
  return memory;
}
void castscope_delete_aligned(void* memory, std::size_t alignment) CASTSCOPE_AS("_ZdlPvSt11align_val_t");
void castscope_delete_aligned(void* memory, std::size_t) { free(memory); }
void castscope_delete_sized(void* memory, std::size_t size, std::size_t alignment)
    CASTSCOPE_AS("_ZdlPvmSt11align_val_t");
void castscope_delete_sized(void* memory, std::size_t, std::size_t) { free(memory); }

// Since GCC 11 (GLIBCXX_3.4.29): called for an array that no memory can hold.
[[noreturn]] void castscope_array_too_long() CASTSCOPE_AS("_ZSt28__throw_bad_array_new_lengthv");
void castscope_array_too_long() { throw std::bad_alloc(); }

#undef CASTSCOPE_AS

// PyTorch's headers call it. In C++20 it is a function of its own, which libstdc++ has since GCC 11 (GLIBCXX_3.4.29).
#if defined(__GLIBCXX__) && _GLIBCXX_USE_CXX11_ABI && __cplusplus > 201703L
template std::string std::stringbuf::str() const&;
#endif
