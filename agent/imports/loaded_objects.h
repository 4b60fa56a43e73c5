// The objects that the dynamic linker has loaded, read from its own tables in memory: which symbols an object imports,
// the slots through which it reaches them, what it defines.
//
// Do not ask dlopen, dlsym or dladdr for any of it: they wait for the lock under which another thread may run an
// object's constructors, which may wait for the GIL that our thread has. dl_iterate_phdr has a lock of its own, held
// only while lists change; what it lists stays mapped as long as it runs.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "agent/memory/own_memory.h"

namespace castscope::imports {

using Address = std::uintptr_t;

// Valid while for_loaded_objects runs. An object without tables, or whose tables lie outside of it, has no symbols.
class LoadedObject {
 public:
  explicit LoadedObject(const dl_phdr_info& info);

  Address base() const { return base_; }
  std::string_view file_name() const;  // without its folder; "" of the program itself
  bool contains(Address at) const { return find(at, 1, 0) != nullptr; }
  bool has_code(Address at) const { return find(at, 1, PF_X) != nullptr; }
  // The linker makes this part read-only when it has relocated the object.
  bool read_only_after_relocation(Address at) const;

  // Calls f(index, name) for each symbol that it imports, or refers to weakly. A program that is not
  // position-independent may have others.
  template <typename F>
  void each_undefined(F f) const {
    for (std::uint32_t i = 1; i < undefined_; ++i)
      if (symbols_[i].st_shndx == SHN_UNDEF && symbols_[i].st_name != 0 && symbols_[i].st_name < string_bytes_)
        f(i, strings_ + symbols_[i].st_name);
  }
  // Calls f(address, index) for each word into which the linker puts the address of an undefined symbol.
  template <typename F>
  void each_slot(F f) const {
    for (const auto& table : {addresses_, calls_})
      for (const Elf64_Rela& r : table)
        if (ELF64_R_SYM(r.r_info) < undefined_ && is_slot(r))
          f(base_ + r.r_offset, static_cast<std::uint32_t>(ELF64_R_SYM(r.r_info)));
  }
  // The function that the object exports under this name, in its default version; nullptr: none.
  void* definition(const char* name) const;
  // Calls f(address) for each word through which the object calls this function, which it defines itself: such calls,
  // too, may go through a word that the loader fills in.
  template <typename F>
  void each_slot_of_own(const char* name, F f) const {
    const std::uint32_t index = definition_index(name);
    if (index == 0) return;
    for (const auto& table : {addresses_, calls_})
      for (const Elf64_Rela& r : table)
        if (ELF64_R_SYM(r.r_info) == index && is_slot(r)) f(base_ + r.r_offset);
  }

 private:
  const Elf64_Phdr* find(Address at, std::size_t bytes, std::uint32_t flags) const;
  bool is_slot(const Elf64_Rela& r) const;
  void read(const Elf64_Dyn* dynamic);
  std::span<const Elf64_Rela> relocations(Address at, std::size_t bytes, std::size_t skip) const;
  std::uint32_t count_undefined() const;
  void read_hash(const std::uint32_t* hash);
  bool is_function(std::uint32_t index, const char* name) const;
  std::uint32_t definition_index(const char* name) const;  // index of the symbol; 0: it has none

  Address base_;
  const char* name_;
  std::span<const Elf64_Phdr> segments_;
  const Elf64_Sym* symbols_ = nullptr;
  const char* strings_ = nullptr;
  std::size_t string_bytes_ = 0;
  std::uint32_t undefined_ = 0;  // symbols from here on are defined
  std::span<const Elf64_Rela> addresses_, calls_;
  const std::uint16_t* versions_ = nullptr;
  struct Hash {  // DT_GNU_HASH
    const Elf64_Xword* bloom = nullptr;
    const std::uint32_t *buckets = nullptr, *chains = nullptr;
    std::uint32_t bloom_words = 0, shift = 0, n_buckets = 0, first = 0;
  } hash_;
};

// How many objects were loaded, and unloaded, so far.
struct LoadCounts {
  unsigned long long loads = 0, unloads = 0;
  bool operator==(const LoadCounts&) const = default;
};
LoadCounts load_counts();

// Runs f once, with all objects, while none can be unloaded. f must not allocate from the job's heap (an allocator that
// looks at stacks asks for the linker's lock within its own) nor throw. False: there was no memory for the list.
bool for_loaded_objects(void (*f)(void* context, LoadCounts counts, std::span<const LoadedObject> objects),
                        void* context) noexcept;

// The function `name` of the object that `function` is in; nullptr: it has none.
void* function_beside(const void* function, const char* name) noexcept;

// Looks in the first object whose file name begins with `file` for the address of each of `names`; nullptr: it has none
// such. Returns false if there is no such object.
bool functions_of(std::string_view file, std::span<const char* const> names, std::span<void*> addresses) noexcept;

// The file name, without its folder, of the object in which `address` lies; "" if that is the program itself, or no
// object.
memory::OwnString object_of(const void* address) noexcept;

}  // namespace castscope::imports
