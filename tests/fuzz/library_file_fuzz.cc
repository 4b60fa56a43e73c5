// Programs and libraries that castscope looks into without loading them (server/cli/toolkit/elf.h). The input is what
// is changed of the bytes of a small one.
#include <elf.h>

#include <cstring>
#include <string>

#include "server/cli/toolkit/elf.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/scratch.h"

namespace castscope::fuzz {
namespace {

constexpr std::size_t kLibraryBytes = 2048;
constexpr std::size_t kSegments = 64, kDynamic = 512, kStrings = 1024, kVersions = 1280, kNotes = 1536;

template <typename T>
void put(std::string& file, std::size_t at, const T& value) {
  std::memcpy(file.data() + at, &value, sizeof value);
}

// A library with one of everything that is looked at, at fixed places.
std::string small_library() {
  std::string file(kLibraryBytes, '\0');
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64, head.e_ident[EI_DATA] = ELFDATA2LSB, head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_type = ET_DYN, head.e_machine = EM_X86_64, head.e_phoff = kSegments, head.e_phnum = 4;
  head.e_ehsize = sizeof head, head.e_phentsize = sizeof(Elf64_Phdr), head.e_shentsize = sizeof(Elf64_Shdr);
  put(file, 0, head);
  const auto segment = [&](int number, Elf64_Word type, Elf64_Off at, Elf64_Xword size) {
    Elf64_Phdr header{};
    header.p_type = type, header.p_offset = at, header.p_vaddr = at, header.p_filesz = size, header.p_memsz = size;
    put(file, kSegments + static_cast<std::size_t>(number) * sizeof header, header);
  };
  segment(0, PT_LOAD, 0, kLibraryBytes);
  segment(1, PT_DYNAMIC, kDynamic, 256);
  segment(2, PT_NOTE, kNotes, 36);
  segment(3, PT_INTERP, kStrings + 16, 16);
  const std::pair<Elf64_Sxword, Elf64_Xword> entries[] = {{DT_STRTAB, kStrings},   {DT_STRSZ, 256},    {DT_NEEDED, 1},
                                                          {DT_VERNEED, kVersions}, {DT_VERNEEDNUM, 1}, {DT_NULL, 0}};
  std::size_t at = kDynamic;
  for (const auto& [tag, value] : entries) put(file, at, Elf64_Dyn{.d_tag = tag, .d_un = {.d_val = value}}), at += 16;
  file.replace(kStrings, 33, std::string("\0libc.so.6\0\0\0\0\0\0/lib64/ld.so\0\0\0\0", 33));
  file.replace(kStrings + 40, 11, "GLIBC_2.17");
  put(file, kVersions, Elf64_Verneed{.vn_version = 1, .vn_cnt = 1, .vn_file = 1, .vn_aux = 16, .vn_next = 0});
  put(file, kVersions + 16,
      Elf64_Vernaux{.vna_hash = 0, .vna_flags = 0, .vna_other = 2, .vna_name = 40, .vna_next = 0});
  put(file, kNotes, Elf64_Nhdr{.n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID});
  file.replace(kNotes + sizeof(Elf64_Nhdr), 4, std::string("GNU\0", 4));
  return file;
}

}  // namespace

CASTSCOPE_FUZZER(library_file, 5000, 2048) {
  Bytes bytes(input);
  static const auto* const library = new std::string(small_library());
  std::string file = bytes.flag() ? *library : std::string(bytes.rest());
  std::string_view pieces = bytes.rest();
  if (file.size() == kLibraryBytes) Pieces(&pieces).put_over(file);
  const std::string path = scratch_file("lib.so", file);
  CASTSCOPE_PROMISE(cli::library_key(path).ok(), "each file has a key");
  (void)cli::section_of(path, ".text");
  (void)cli::interpreter_of(path);
  const auto needs = cli::library_needs(path);
  if (needs.ok()) (void)cli::versions_beyond(*needs, {*needs});
}

}  // namespace castscope::fuzz
