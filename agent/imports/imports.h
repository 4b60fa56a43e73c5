// Puts functions of ours in the place of those that loaded objects import: into the words (the global offset table,
// tables of function pointers) through which PyTorch and extension modules call cuBLAS and CUPTI, and PyTorch itself.
// Why there: docs/decisions/gpu.md.
//
// Other threads may call through the words meanwhile: each is one aligned store. On any trouble an object is left as it
// is. No lock is taken that code of the job is run under.
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
  // What PyTorch would call, or the first object that was found to import it. It is there before ours is called, and
  // stays.
  void* original = nullptr;
  // The object that has the function calls it as one of another object's, and such calls are to lead to ours, too.
  bool own_calls = false;
};

// To be called by ours.
inline void* original_of(const Import& import) { return __atomic_load_n(&import.original, __ATOMIC_RELAXED); }

struct ImportCounts {
  std::size_t taken = 0;    // words that were replaced, and not given back
  std::size_t foreign = 0;  // that lead to another copy of the library, and are left alone
  std::size_t waiting = 0;  // that the linker has not filled yet, or from which it is not clear where they will lead
  std::size_t failed = 0;   // that could not be written
};

// Thread-safe. Everything in it lies in memory of its own: give_back writes nowhere but into objects that are loaded.
class Imports {
 public:
  // `imports` lives as long as ours may be called: as the process. Not more than 65,535.
  explicit Imports(std::span<Import> imports);

  // Looks at what was loaded since the last time. Returns how many words were replaced. Costs some 100 ns where nothing
  // was loaded and nothing waits.
  std::size_t take() noexcept;
  // Puts back what each word held, where it still holds ours. Returns how many.
  std::size_t give_back() noexcept;
  ImportCounts counts() const;

  // Of what an object has: its file's name, how many of its words lead to ours.
  struct Taken {
    memory::OwnString object;
    std::size_t words;
  };
  memory::OwnVector<Taken> taken() const;

  // Around fork(): a child finds it unlocked.
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
    memory::OwnString name;  // of one that has slots
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
  memory::OwnVector<Object> objects_;  // all that were looked at
  bool waiting_ = true;
};

}  // namespace castscope::imports
