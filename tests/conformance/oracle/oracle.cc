// Counts independently what at::autocast::cached_cast returned, to check castscope. It is loaded by LD_PRELOAD. It
// shares nothing with agent/: neither code nor the way of telling a hit from a cast. castscope asks whether a
// conversion ran inside the call; the oracle asks whether the very tensor that comes back was handed out before.
//
//   result is the argument                               → pass-through
//   argument is a Python FakeTensor or FunctionalTensor  → traced, whatever comes back
//   result was handed out before, by any thread          → cache hit
//   otherwise                                            → cast
//
// "Handed out before" is exact: each result that anyone but the caller holds (only the cache can) is remembered with
// a weak reference, which keeps its address from being used again; a hit is alive, since its caller holds it, so
// forgetting the dead loses nothing. A result that the caller alone holds is in no cache and cannot come back. Of two
// threads that race for the same entry, one counts the cast and the other the hit, whichever is first: sums are exact.
//
// No symbol of libtorch is needed to load this: in a process without PyTorch it does nothing.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_set>

#include "tally.h"

#include <c10/core/TensorImpl.h>

namespace oracle {

// at::Tensor as calling conventions see it: whatever has a destructor is returned in memory that the caller gives.
struct Tensor {
  Tensor(const Tensor& other) : impl(other.impl) {}
  ~Tensor() {}
  c10::TensorImpl* impl;
};

namespace {

using CachedCast = Tensor (*)(std::int8_t to, c10::TensorImpl* const* argument, std::int8_t device);
using ClearCache = void (*)();

// It is leaked: threads may still call when static objects are destroyed.
std::mutex& mutex = *new std::mutex;
std::unordered_set<c10::TensorImpl*>& handed_out = *new std::unordered_set<c10::TensorImpl*>;
std::size_t prune_at = 256;
std::atomic<Tally*> tally{nullptr};

template <typename Function>
Function original(const char* symbol) {
  // RTLD_NEXT does not see libtorch, which Python loads RTLD_LOCAL: the loaded library is opened by its own path.
  const char* path = nullptr;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        if (std::strstr(info->dlpi_name, "libtorch_cpu.so") == nullptr) return 0;
        *static_cast<const char**>(out) = info->dlpi_name;
        return 1;
      },
      &path);
  void* handle = path != nullptr ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  void* address = handle != nullptr ? dlsym(handle, symbol) : nullptr;
  if (address == nullptr) {
    std::fprintf(stderr, "oracle: %s is not in the libtorch_cpu of this process\n", symbol);
    std::abort();
  }
  return reinterpret_cast<Function>(address);
}

Tally* open_tally() {
  const char* folder = std::getenv("CAST_ORACLE_DIR");
  if (folder == nullptr) folder = ".";
  char path[4096];
  int file = -1;
  for (int n = 0; file < 0; ++n) {  // an exec keeps the pid: the next free number
    std::snprintf(path, sizeof path, "%s/%d-%d.tally", folder, getpid(), n);
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && errno != EEXIST) break;
  }
  void* memory = MAP_FAILED;
  if (file >= 0 && ftruncate(file, sizeof(Tally)) == 0)
    memory = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "oracle: cannot count in %s\n", path);
    std::abort();
  }
  close(file);
  auto* fresh = static_cast<Tally*>(memory);
  std::memcpy(fresh->magic, kMagic, sizeof kMagic);
  fresh->pid = static_cast<std::uint64_t>(getpid());
  return fresh;
}

Tally& counts() {
  Tally* present = tally.load(std::memory_order_acquire);
  if (present != nullptr) return *present;
  std::lock_guard lock(mutex);
  present = tally.load(std::memory_order_relaxed);
  if (present == nullptr) tally.store(present = open_tally(), std::memory_order_release);
  return *present;
}

void add(Count& count, std::uint64_t n = 1) { count.fetch_add(n, std::memory_order_relaxed); }

// Before 2.10 the function for it stands in libc10, which is not loaded yet when this library is: the slot holds its
// interpreter and the object, whose lowest bit is a mark.
template <typename Slot>
const void* python_object(const Slot* slot) {
  if constexpr (requires { slot->load_pyobj(); }) {
    return slot->load_pyobj();
  } else {
    static_assert(sizeof(Slot) == 2 * sizeof(void*));
    const auto* words = reinterpret_cast<const std::uintptr_t*>(slot);
    return reinterpret_cast<const void*>(words[1] & ~std::uintptr_t{1});
  }
}

// The type's name is where every version of CPython has had it: PyObject {refcnt, type}, PyTypeObject {PyVarObject,
// name}.
bool is_traced(const c10::TensorImpl* impl) {
  if (!impl->key_set().has(c10::DispatchKey::Python)) return false;
  const auto* object = static_cast<const char* const*>(python_object(impl->pyobj_slot()));
  if (object == nullptr) return false;
  const auto* type = reinterpret_cast<const char* const*>(object[1]);
  std::string_view name = type[3];
  if (auto dot = name.rfind('.'); dot != name.npos) name.remove_prefix(dot + 1);
  return name == "FakeTensor" || name == "FunctionalTensor";
}

void forget_the_dead() {
  for (auto it = handed_out.begin(); it != handed_out.end();) {
    if (c10::raw::weak_intrusive_ptr::use_count(*it) == 0) {
      c10::raw::weak_intrusive_ptr::decref(*it);
      it = handed_out.erase(it);
    } else {
      ++it;
    }
  }
  prune_at = 2 * handed_out.size() + 256;
}

bool was_handed_out_before(c10::TensorImpl* result) {
  std::lock_guard lock(mutex);
  if (handed_out.count(result) != 0) return true;
  if (c10::raw::intrusive_ptr::use_count(result) > 1) {
    c10::raw::weak_intrusive_ptr::incref(result);
    handed_out.insert(result);
    if (handed_out.size() > prune_at) forget_the_dead();
  }
  return false;
}

char outcome(c10::TensorImpl* argument, c10::TensorImpl* result, bool traced, Tally& to) {
  if (traced) return add(to.traced), 't';
  if (result == argument) return add(to.passes), 'p';
  const auto dtype = c10::typeMetaToScalarType(result->dtype());
  PairTally& pair = to.pairs[static_cast<int>(c10::typeMetaToScalarType(argument->dtype()))][static_cast<int>(dtype)];
  if (was_handed_out_before(result)) return add(to.hits), add(pair.hits), 'h';
  const std::uint64_t bytes = static_cast<std::uint64_t>(result->numel()) * c10::elementSize(dtype);
  add(to.casts), add(to.bytes, bytes), add(pair.casts), add(pair.bytes, bytes);
  return 'c';
}

// A child counts for itself. Its locks are free: the forking thread held none of ours, since the oracle does not fork.
__attribute__((constructor)) void on_load() {
  pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); },
                 [] {
                   tally.store(nullptr, std::memory_order_relaxed);
                   mutex.unlock();
                 });
}

}  // namespace

__attribute__((visibility("default"))) Tensor cached_cast(
    std::int8_t to, c10::TensorImpl* const* argument,
    std::int8_t device) asm("_ZN2at8autocast11cached_castEN3c1010ScalarTypeERKNS_6TensorENS1_10DeviceTypeE");
Tensor cached_cast(std::int8_t to, c10::TensorImpl* const* argument, std::int8_t device) {
  static const auto real =
      original<CachedCast>("_ZN2at8autocast11cached_castEN3c1010ScalarTypeERKNS_6TensorENS1_10DeviceTypeE");
  c10::TensorImpl* const given = *argument;
  const bool traced = is_traced(given);
  const bool functional = given->key_set().has(c10::DispatchKey::Functionalize);
  Tensor returned = real(to, argument, device);
  Tally& here = counts();
  if (functional) add(here.functional);
  const char letter = outcome(given, returned.impl, traced, here);
  const auto at = here.trace_length.fetch_add(1, std::memory_order_relaxed);
  if (at < kTrace) here.trace[at] = letter;
  return returned;
}

__attribute__((visibility("default"))) void clear_cache() asm("_ZN2at8autocast11clear_cacheEv");
void clear_cache() {
  static const auto real = original<ClearCache>("_ZN2at8autocast11clear_cacheEv");
  real();
  add(counts().clears);
}

}  // namespace oracle
