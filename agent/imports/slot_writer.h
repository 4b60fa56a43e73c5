// Stores addresses into words that other threads read, some of them in pages that are read-only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace castscope::imports {

// A line of /proc/self/maps.
struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  int protection = 0;  // PROT_…
};

class SlotWriter {
 public:
  SlotWriter() = default;
  ~SlotWriter() { close_page(); }
  SlotWriter(const SlotWriter&) = delete;
  SlotWriter& operator=(const SlotWriter&) = delete;

  enum class Outcome : std::uint8_t { kStored, kNotYet, kFailed };
  // Stores into an aligned word, which is mapped. A page that was read-only is made so again when another one follows,
  // and at the end. kNotYet: `read_only_in_the_end` is set and the page is still writable. Then the linker is at work
  // in this page: it would overwrite our store, or make the page read-only in the midst of it.
  Outcome store(std::uintptr_t slot, void* value, bool read_only_in_the_end);

 private:
  bool know(std::uintptr_t page);
  void close_page();

  Mapping mapping_;                           // the last page asked about, as it was before
  static constexpr std::uintptr_t kNone = 1;  // no page's address
  std::uintptr_t open_page_ = kNone;          // made writable by us
  int put_back_ = 0;
};

// False: it is not mapped, or /proc cannot be read.
bool mapping_of(std::uintptr_t address, Mapping* mapping);

}  // namespace castscope::imports
