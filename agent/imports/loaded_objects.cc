#include "agent/imports/loaded_objects.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "agent/machine/relocations.h"
#include "agent/memory/own_memory.h"

namespace castscope::imports {
namespace {

std::uint32_t gnu_hash(const char* name) {
  std::uint32_t h = 5381;
  for (; *name != '\0'; ++name) h = h * 33 + static_cast<unsigned char>(*name);
  return h;
}

constexpr std::uint16_t kHiddenVersion = 0x8000;

}  // namespace

LoadedObject::LoadedObject(const dl_phdr_info& info)
    : base_(info.dlpi_addr),
      name_(info.dlpi_name == nullptr ? "" : info.dlpi_name),
      segments_(info.dlpi_phdr, info.dlpi_phnum) {
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == PT_DYNAMIC && find(base_ + segment.p_vaddr, segment.p_memsz, 0) != nullptr)
      read(reinterpret_cast<const Elf64_Dyn*>(base_ + segment.p_vaddr));
}

std::string_view LoadedObject::file_name() const {
  const std::string_view path(name_);
  return path.substr(path.rfind('/') + 1);
}

const Elf64_Phdr* LoadedObject::find(Address at, std::size_t bytes, std::uint32_t flags) const {
  for (const Elf64_Phdr& s : segments_) {
    const Address begin = base_ + s.p_vaddr;
    const bool holds = s.p_type == PT_LOAD && (s.p_flags & flags) == flags && at >= begin && at - begin < s.p_memsz;
    if (holds && bytes <= s.p_memsz - (at - begin)) return &s;
  }
  return nullptr;
}

bool LoadedObject::read_only_after_relocation(Address at) const {
  const auto page = static_cast<Address>(sysconf(_SC_PAGESIZE));  // the linker rounds both ends down
  for (const Elf64_Phdr& s : segments_) {
    const Address begin = base_ + s.p_vaddr, end = begin + s.p_memsz;
    if (s.p_type == PT_GNU_RELRO && at >= begin / page * page && at < end / page * page) return true;
  }
  return false;
}

void LoadedObject::read(const Elf64_Dyn* dynamic) {
  Address values[DT_NUM] = {}, hash = 0, versions = 0;
  std::size_t relative = 0;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag > 0 && dynamic->d_tag < DT_NUM) values[dynamic->d_tag] = dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_GNU_HASH) hash = dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_VERSYM) versions = dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_RELACOUNT) relative = dynamic->d_un.d_val;
  }
  // glibc has already made addresses of them, except in the kernel's own object (vdso), which cannot be written to.
  const auto place = [this](Address at) { return at != 0 && at < base_ ? at + base_ : at; };
  hash = place(hash);
  const Address symbols = place(values[DT_SYMTAB]), strings = place(values[DT_STRTAB]);
  const std::size_t string_bytes = values[DT_STRSZ];
  if (string_bytes == 0 || find(hash, 16, 0) == nullptr || find(strings, string_bytes, 0) == nullptr) return;
  strings_ = reinterpret_cast<const char*>(strings);
  if (strings_[string_bytes - 1] != '\0') return;
  read_hash(reinterpret_cast<const std::uint32_t*>(hash));
  if (hash_.buckets == nullptr || find(symbols, (hash_.first + 1) * sizeof(Elf64_Sym), 0) == nullptr) return;
  symbols_ = reinterpret_cast<const Elf64_Sym*>(symbols);
  versions_ = reinterpret_cast<const std::uint16_t*>(place(versions));
  string_bytes_ = string_bytes;
  addresses_ = relocations(place(values[DT_RELA]), values[DT_RELASZ], relative);
  if (values[DT_PLTREL] == DT_RELA) calls_ = relocations(place(values[DT_JMPREL]), values[DT_PLTRELSZ], 0);
  undefined_ = count_undefined();
}

// Defined symbols stand at the end of the table, where the hash begins. The hash of an object that defines none does
// not tell where that is.
std::uint32_t LoadedObject::count_undefined() const {
  const std::span buckets(hash_.buckets, hash_.n_buckets);
  if (!std::all_of(buckets.begin(), buckets.end(), [](std::uint32_t b) { return b == 0; })) return hash_.first;
  std::uint32_t n = 0;
  for (const auto& table : {addresses_, calls_})
    for (const Elf64_Rela& r : table) n = std::max(n, static_cast<std::uint32_t>(ELF64_R_SYM(r.r_info)) + 1);
  return find(reinterpret_cast<Address>(symbols_), n * sizeof(Elf64_Sym), 0) == nullptr ? 0 : n;
}

std::span<const Elf64_Rela> LoadedObject::relocations(Address at, std::size_t bytes, std::size_t skip) const {
  const std::size_t n = bytes / sizeof(Elf64_Rela);
  if (n <= skip || find(at, bytes, 0) == nullptr) return {};
  return {reinterpret_cast<const Elf64_Rela*>(at) + skip, n - skip};
}

// The words of the hash, two by two: number of buckets, first symbol, number of bloom words, shift.
void LoadedObject::read_hash(const std::uint32_t* hash) {
  const std::size_t bytes = 16 + std::size_t{hash[2]} * sizeof(Elf64_Xword) + std::size_t{hash[0]} * 4;
  if (hash[2] == 0 || find(reinterpret_cast<Address>(hash), bytes, 0) == nullptr) return;
  hash_.n_buckets = hash[0];
  hash_.first = hash[1];
  hash_.bloom_words = hash[2];
  hash_.shift = hash[3] & 31;
  hash_.bloom = reinterpret_cast<const Elf64_Xword*>(hash + 4);
  hash_.buckets = reinterpret_cast<const std::uint32_t*>(hash_.bloom + hash_.bloom_words);
  hash_.chains = hash_.buckets + hash_.n_buckets;
}

bool LoadedObject::is_slot(const Elf64_Rela& r) const {
  return machine::is_whole_address(ELF64_R_TYPE(r.r_info), r.r_addend) && r.r_offset % sizeof(void*) == 0 &&
         find(base_ + r.r_offset, sizeof(void*), 0) != nullptr;
}

bool LoadedObject::is_function(std::uint32_t index, const char* name) const {
  const Elf64_Sym& s = symbols_[index];
  if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_shndx == SHN_UNDEF || s.st_name >= string_bytes_) return false;
  if (versions_ != nullptr && (versions_[index] & kHiddenVersion) != 0) return false;
  return std::strcmp(strings_ + s.st_name, name) == 0 && has_code(base_ + s.st_value);
}

void* LoadedObject::definition(const char* name) const {
  const std::uint32_t index = definition_index(name);
  return index == 0 ? nullptr : reinterpret_cast<void*>(base_ + symbols_[index].st_value);
}

std::uint32_t LoadedObject::definition_index(const char* name) const {
  if (symbols_ == nullptr || hash_.n_buckets == 0) return 0;
  const std::uint32_t h = gnu_hash(name);
  const Elf64_Xword bits = hash_.bloom[h / 64 % hash_.bloom_words];
  if ((bits >> h % 64 & bits >> (h >> hash_.shift) % 64 & 1) == 0) return 0;
  for (std::uint32_t i = hash_.buckets[h % hash_.n_buckets]; i >= hash_.first; ++i) {
    const std::uint32_t* chain = hash_.chains + (i - hash_.first);
    if (find(reinterpret_cast<Address>(chain), 4, 0) == nullptr) return 0;
    if (find(reinterpret_cast<Address>(symbols_ + i), sizeof(Elf64_Sym), 0) == nullptr) return 0;
    if ((*chain | 1) == (h | 1) && is_function(i, name)) return i;
    if ((*chain & 1) != 0) return 0;
  }
  return 0;
}

LoadCounts load_counts() {
  LoadCounts counts;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<LoadCounts*>(to) = {info->dlpi_adds, info->dlpi_subs};
        return 1;
      },
      &counts);
  return counts;
}

bool for_loaded_objects(void (*f)(void*, LoadCounts, std::span<const LoadedObject>), void* context) noexcept {
  struct Walk {
    void (*f)(void*, LoadCounts, std::span<const LoadedObject>);
    void* context;
    memory::OwnVector<LoadedObject> objects;
    bool complete = true;
  } walk{f, context, {}, true};
  const auto collect = [](dl_phdr_info* info, std::size_t, void* to) {
    Walk& w = *static_cast<Walk*>(to);
    try {
      w.objects.emplace_back(*info);
    } catch (const std::exception&) {
      w.complete = false;
    }
    return w.complete ? 0 : 1;
  };
  // The list is made, and used, within the first callback of another walk: its holder may take the lock again, and the
  // lock is held until that callback returns.
  struct Outer {
    Walk* walk;
    int (*collect)(dl_phdr_info*, std::size_t, void*);
  } outer{&walk, collect};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        const Outer& o = *static_cast<Outer*>(to);
        dl_iterate_phdr(o.collect, o.walk);
        if (o.walk->complete) o.walk->f(o.walk->context, {info->dlpi_adds, info->dlpi_subs}, o.walk->objects);
        return 1;
      },
      &outer);
  return walk.complete;
}

void* function_beside(const void* function, const char* name) noexcept {
  struct Question {
    Address at;
    const char* name;
    void* answer;
  } question{reinterpret_cast<Address>(function), name, nullptr};
  for_loaded_objects(
      [](void* context, LoadCounts, std::span<const LoadedObject> objects) {
        Question& q = *static_cast<Question*>(context);
        for (const LoadedObject& o : objects)
          if (o.has_code(q.at)) q.answer = o.definition(q.name);
      },
      &question);
  return question.answer;
}

bool functions_of(std::string_view file, std::span<const char* const> names, std::span<void*> addresses) noexcept {
  struct Question {
    std::string_view file;
    std::span<const char* const> names;
    std::span<void*> addresses;
    bool found;
  } question{file, names, addresses, false};
  for_loaded_objects(
      [](void* context, LoadCounts, std::span<const LoadedObject> objects) {
        Question& q = *static_cast<Question*>(context);
        for (const LoadedObject& o : objects) {
          if (q.found || !o.file_name().starts_with(q.file)) continue;
          q.found = true;
          for (std::size_t i = 0; i < q.names.size(); ++i) q.addresses[i] = o.definition(q.names[i]);
        }
      },
      &question);
  return question.found;
}

memory::OwnString object_of(const void* address) noexcept {
  struct Question {
    Address at;
    memory::OwnString name;
  } question{reinterpret_cast<Address>(address), {}};
  for_loaded_objects(
      [](void* context, LoadCounts, std::span<const LoadedObject> objects) {
        Question& q = *static_cast<Question*>(context);
        for (const LoadedObject& o : objects)
          if (o.has_code(q.at)) q.name = o.file_name();
      },
      &question);
  return question.name;
}

}  // namespace castscope::imports
