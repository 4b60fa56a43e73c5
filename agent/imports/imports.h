// Puts functions of ours in place of functions that loaded objects import: into the words (the global offset table,
// tables of function pointers) through which PyTorch and extension modules call cuBLAS and CUPTI, and PyTorch itself.
// docs/decisions/gpu.md says why there and not elsewhere.
//
// Other threads may call through the words meanwhile: each replacement is one aligned store. On any trouble an object
// is left as it is. Takes no lock under which code of the job runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "agent/imports/loaded_objects.h"
#include "agent/imports/slot_writer.h"
#include "agent/memory/own_memory.h"

namespace castscope::imports {

struct Import {
  const char* symbol;
  void* ours;
  // The function that PyTorch would call, or that of the first object that was found to import it. It is set before
  // ours is called, and stays.
  void* original = nullptr;
  // The object that defines the function calls it like an imported one, and such calls are to lead to ours, too.
  bool own_calls = false;
};

// The function that ours calls.
inline void* original_of(const Import& import) { return __atomic_load_n(&import.original, __ATOMIC_RELAXED); }

struct ImportCounts {
  std::size_t taken = 0;    // words that were replaced, and not given back
  std::size_t foreign = 0;  // words that lead to another copy of the library, and are left alone
  std::size_t waiting = 0;  // words that the linker has not filled yet, or whose target is not clear
  std::size_t failed = 0;   // words that could not be written
};

// Thread-safe. It keeps its data in memory of its own, so that give_back writes only into objects that are loaded.
class Imports {
 public:
  // `imports` must live as long as the process, since our functions may be called as long. At most 65,535.
  explicit Imports(std::span<Import> imports);

  // Looks at what was loaded since the last time. Returns how many words were replaced. Costs some 100 ns where nothing
  // was loaded and nothing waits.
  std::size_t take() noexcept;
  // Puts back what each word held, where the word still holds ours. Returns how many were put back.
  std::size_t give_back() noexcept;
  ImportCounts counts() const;

  // An object that has words of ours: its file's name, and how many of its words lead to ours.
  struct Taken {
    memory::OwnString object;
    std::size_t words;
  };
  memory::OwnVector<Taken> taken() const;

  // Call around fork(): a child finds it unlocked.
  void hold() { mutex_.lock(); }
  void release() { mutex_.unlock(); }

 private:
  enum class State : std::uint8_t { kWaiting, kTaken, kForeign, kFailed };
  struct Slot {
    Address at;
    void* before;  // nullptr: not known
    std::uint16_t import;
    State state;
  };
  struct Object {
    Address base;
    memory::OwnVector<Slot> slots;
    memory::OwnString name;  // set for an object that has slots
    bool settled;
  };
  struct Look;

  void look(Look& look);
  Object scan(const LoadedObject& object) const;
  void settle(Object& object, const LoadedObject& loaded, Look& look);
  void* target(const Slot& slot, void* held, const LoadedObject& loaded, const Look& look) const;
  const Slot* known_slot(Address base, Address at) const;
  int import_named(const char* symbol) const;

  const std::span<Import> imports_;
  memory::OwnVector<std::uint16_t> by_name_;
  mutable std::mutex mutex_;
  LoadCounts seen_;
  memory::OwnVector<Object> objects_;  // all objects that were looked at
  bool waiting_ = true;
};

}  // namespace castscope::imports
