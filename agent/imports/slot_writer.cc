#include "agent/imports/slot_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace castscope::imports {
namespace {

std::uintptr_t page_size() { return static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)); }

const char* read_hex(const char* at, std::uintptr_t* value) {
  for (*value = 0;; ++at) {
    if (*at >= '0' && *at <= '9')
      *value = *value << 4 | static_cast<std::uintptr_t>(*at - '0');
    else if (*at >= 'a' && *at <= 'f')
      *value = *value << 4 | static_cast<std::uintptr_t>(*at - 'a' + 10);
    else
      return at;
  }
}

// "7f0123456000-7f0123457000 r--p …". Only the begin of a line is looked at, which is never as long as `most`.
bool read_line(const char* line, Mapping* mapping) {
  line = read_hex(line, &mapping->begin);
  if (*line != '-') return false;
  line = read_hex(line + 1, &mapping->end);
  if (*line != ' ') return false;
  mapping->protection = (line[1] == 'r' ? PROT_READ : 0) | (line[2] == 'w' ? PROT_WRITE : 0);
  if (line[3] == 'x') mapping->protection |= PROT_EXEC;
  return true;
}

bool search(int maps, std::uintptr_t address, Mapping* mapping) {
  char text[8192 + 1];
  constexpr std::size_t kHead = 64;  // holds the begin of a line: both addresses and the protection
  std::size_t held = 0;
  bool in_line = false;  // whether the data goes on with a line that was read
  for (;;) {
    const ssize_t n = read(maps, text + held, sizeof text - 1 - held);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    held += static_cast<std::size_t>(n);
    text[held] = '\0';
    char* at = text;
    for (;;) {
      const std::size_t left = held - static_cast<std::size_t>(at - text);
      if (in_line) {
        char* const end = static_cast<char*>(std::memchr(at, '\n', left));
        at = end == nullptr ? text + held : end + 1;
        in_line = end == nullptr;
        if (in_line) break;
      } else if (left >= kHead || (n == 0 && left > 0)) {
        if (read_line(at, mapping) && mapping->begin <= address && address < mapping->end) return true;
        in_line = true;
      } else {
        break;
      }
    }
    if (n == 0) return false;
    held -= static_cast<std::size_t>(at - text);
    std::memmove(text, at, held);
  }
}

}  // namespace

bool mapping_of(std::uintptr_t address, Mapping* mapping) {
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return false;
  const bool found = search(maps, address, mapping);
  close(maps);
  return found;
}

bool SlotWriter::know(std::uintptr_t page) {
  if (page >= mapping_.begin && page < mapping_.end) return true;
  mapping_ = {};
  if (mapping_of(page, &mapping_)) return true;
  mapping_ = {};
  return false;
}

void SlotWriter::close_page() {
  if (open_page_ != kNone) mprotect(reinterpret_cast<void*>(open_page_), page_size(), put_back_);
  open_page_ = kNone;
}

SlotWriter::Outcome SlotWriter::store(std::uintptr_t slot, void* value, bool read_only_in_the_end) {
  const std::uintptr_t page = slot & ~(page_size() - 1);
  if (slot % sizeof(void*) != 0) return Outcome::kFailed;
  if (page != open_page_) {
    close_page();
    if (!know(page)) return Outcome::kFailed;
    const bool writable = (mapping_.protection & PROT_WRITE) != 0;
    if (writable && read_only_in_the_end) return Outcome::kNotYet;
    if (!writable) {
      put_back_ = mapping_.protection;
      if (mprotect(reinterpret_cast<void*>(page), page_size(), put_back_ | PROT_WRITE) != 0) return Outcome::kFailed;
      open_page_ = page;
    }
  }
  __atomic_store_n(reinterpret_cast<void**>(slot), value, __ATOMIC_RELEASE);
  return Outcome::kStored;
}

}  // namespace castscope::imports
