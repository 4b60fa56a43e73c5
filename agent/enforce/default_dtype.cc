#include "agent/enforce/default_dtype.h"

#include <ATen/autocast_mode.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace castscope::enforce {
namespace {

using c10::ScalarType;
using Bytes = std::vector<std::uint8_t>;

// The initialized thread-local variables of the shared object that has autocast.
struct ThreadLocals {
  std::uintptr_t inside = 0;          // an address in that object
  std::uint8_t* image = nullptr;      // each thread's copy is made from this
  const std::uint8_t* own = nullptr;  // this thread's copy
  std::size_t size = 0;
  std::uintptr_t sealed = 0, unsealed = 0;  // begin and end of what is made read-only after loading
};

bool is_in(const dl_phdr_info& object, std::uintptr_t address) {
  return std::any_of(object.dlpi_phdr, object.dlpi_phdr + object.dlpi_phnum, [&](const ElfW(Phdr) & part) {
    const std::uintptr_t begin = object.dlpi_addr + part.p_vaddr;
    return part.p_type == PT_LOAD && address >= begin && address - begin < part.p_memsz;
  });
}

int look(dl_phdr_info* object, std::size_t size, void* into) {
  ThreadLocals& found = *static_cast<ThreadLocals*>(into);
  if (!is_in(*object, found.inside)) return 0;
  if (size < offsetof(dl_phdr_info, dlpi_tls_data) + sizeof object->dlpi_tls_data) return 1;
  found.own = static_cast<const std::uint8_t*>(object->dlpi_tls_data);
  for (const ElfW(Phdr)* part = object->dlpi_phdr; part != object->dlpi_phdr + object->dlpi_phnum; ++part) {
    const std::uintptr_t begin = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_TLS) found.image = reinterpret_cast<std::uint8_t*>(begin), found.size = part->p_filesz;
    if (part->p_type == PT_GNU_RELRO) found.sealed = begin, found.unsealed = begin + part->p_memsz;
  }
  return 1;
}

std::optional<ThreadLocals> thread_locals() {
  ThreadLocals found;
  found.inside = reinterpret_cast<std::uintptr_t>(&at::autocast::set_autocast_dtype);
  if (dl_iterate_phdr(look, &found) == 0 || found.image == nullptr || found.own == nullptr) return std::nullopt;
  return found;
}

// Finds the variable that is the dtype of this device: the only one that changes when the dtype is set.
std::optional<std::size_t> place_of(c10::DeviceType device, const ThreadLocals& locals) {
  const ScalarType before = at::autocast::get_autocast_dtype(device);
  const ScalarType other = before == ScalarType::Half ? ScalarType::BFloat16 : ScalarType::Half;
  const Bytes as_it_was(locals.own, locals.own + locals.size);
  at::autocast::set_autocast_dtype(device, other);
  const Bytes changed(locals.own, locals.own + locals.size);
  at::autocast::set_autocast_dtype(device, before);
  std::optional<std::size_t> place;
  for (std::size_t i = 0; i < locals.size; ++i) {
    if (as_it_was[i] == changed[i]) continue;
    if (place) return std::nullopt;
    place = i;
  }
  const bool is_it = place && as_it_was[*place] == static_cast<std::uint8_t>(before) &&
                     changed[*place] == static_cast<std::uint8_t>(other) && locals.image[*place] == as_it_was[*place];
  return is_it ? place : std::nullopt;
}

bool write(std::uint8_t* at, std::uint8_t value, const ThreadLocals& locals) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const bool sealed = address >= locals.sealed && address < locals.unsealed;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const begin = reinterpret_cast<void*>(address / page * page);
  if (sealed && mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
  *at = value;
  if (sealed) mprotect(begin, page, PROT_READ);
  return true;
}

}  // namespace

bool set_default_dtype(c10::DeviceType device, ScalarType dtype) {
  static_assert(sizeof(ScalarType) == 1);
  at::autocast::set_autocast_dtype(device, at::autocast::get_autocast_dtype(device));  // this thread has its copy now
  const std::optional<ThreadLocals> locals = thread_locals();
  const std::optional<std::size_t> place = locals ? place_of(device, *locals) : std::nullopt;
  at::autocast::set_autocast_dtype(device, dtype);
  return place && write(locals->image + *place, static_cast<std::uint8_t>(dtype), *locals);
}

}  // namespace castscope::enforce
