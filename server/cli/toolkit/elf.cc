#include "server/cli/toolkit/elf.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/files/plain_file.h"

namespace castscope::cli {
namespace {

class MappedFile {
 public:
  static absl::StatusOr<std::unique_ptr<MappedFile>> open(const std::string& path) {
    auto file = std::make_unique<MappedFile>();
    const auto plain = files::PlainFile::open(path);
    if (!plain.ok()) return absl::NotFoundError(absl::StrCat(path, " cannot be read: ", plain.status().message()));
    file->info = plain->info();
    if (file->info.st_size > 0) {
      file->address =
          mmap(nullptr, static_cast<std::size_t>(file->info.st_size), PROT_READ, MAP_PRIVATE, plain->descriptor(), 0);
    }
    if (file->address == MAP_FAILED && file->info.st_size > 0)
      return absl::NotFoundError(absl::StrCat(path, " cannot be mapped"));
    return file;
  }
  ~MappedFile() {
    if (address != MAP_FAILED) munmap(address, static_cast<std::size_t>(info.st_size));
  }
  std::string_view bytes() const {
    if (address == MAP_FAILED) return {};  // an empty file
    return {static_cast<const char*>(address), static_cast<std::size_t>(info.st_size)};
  }
  struct stat info {};
  void* address = MAP_FAILED;
};

template <typename T>
std::optional<T> read_at(std::string_view bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::size_t aligned(std::size_t n) { return (n + 3) & ~std::size_t{3}; }

std::string build_id_in(std::string_view notes) {
  std::size_t at = 0;
  while (auto header = read_at<Elf64_Nhdr>(notes, at)) {
    std::size_t name = at + sizeof(Elf64_Nhdr);
    std::size_t content = name + aligned(header->n_namesz);
    if (content > notes.size() || notes.size() - content < header->n_descsz) break;
    if (header->n_type == NT_GNU_BUILD_ID && notes.substr(name, 4) == std::string_view("GNU\0", 4) &&
        header->n_descsz > 0 && header->n_descsz <= 32) {
      return absl::BytesToHexString(std::string(notes.substr(content, header->n_descsz)));
    }
    at = content + aligned(header->n_descsz);
  }
  return "";
}

bool is_elf_64(std::string_view file) {
  auto header = read_at<Elf64_Ehdr>(file, 0);
  return header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64;
}

std::vector<Elf64_Phdr> segments_of(std::string_view file) {
  std::vector<Elf64_Phdr> result;
  if (!is_elf_64(file)) return result;
  const auto header = *read_at<Elf64_Ehdr>(file, 0);
  for (int i = 0; i < header.e_phnum; i++) {
    auto segment = read_at<Elf64_Phdr>(file, header.e_phoff + static_cast<std::size_t>(i) * sizeof(Elf64_Phdr));
    if (!segment) break;
    result.push_back(*segment);
  }
  return result;
}

std::string_view part(std::string_view file, std::uint64_t offset, std::uint64_t size) {
  return offset > file.size() ? std::string_view() : file.substr(offset, size);
}

std::string build_id(std::string_view file) {
  for (const Elf64_Phdr& segment : segments_of(file)) {
    if (segment.p_type != PT_NOTE) continue;
    std::string id = build_id_in(part(file, segment.p_offset, segment.p_filesz));
    if (!id.empty()) return id;
  }
  return "";
}

// The dynamic section of a library, and what it points to.
class Dynamic {
 public:
  explicit Dynamic(std::string_view file) : file_(file), segments_(segments_of(file)) {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_DYNAMIC) continue;
      for (std::size_t at = segment.p_offset; auto entry = read_at<Elf64_Dyn>(file, at); at += sizeof(Elf64_Dyn)) {
        if (entry->d_tag == DT_NULL) break;
        entries_.push_back(*entry);
      }
    }
  }
  std::optional<std::uint64_t> value(Elf64_Sxword tag) const {
    for (const Elf64_Dyn& entry : entries_)
      if (entry.d_tag == tag) return entry.d_un.d_val;
    return std::nullopt;
  }
  std::vector<std::string> needed() const {
    std::vector<std::string> result;
    for (const Elf64_Dyn& entry : entries_)
      if (entry.d_tag == DT_NEEDED) result.push_back(text(entry.d_un.d_val));
    return result;
  }
  std::string text(std::uint64_t number) const {
    const auto strings = offset_of(DT_STRTAB);
    if (!strings) return "";
    const std::string_view rest = part(file_, *strings + number, std::string_view::npos);
    return std::string(rest.substr(0, rest.find('\0')));
  }
  // Where in the file the thing is whose address this entry has.
  std::optional<std::uint64_t> offset_of(Elf64_Sxword tag) const {
    const auto address = value(tag);
    if (!address) return std::nullopt;
    for (const Elf64_Phdr& segment : segments_)
      if (segment.p_type == PT_LOAD && *address >= segment.p_vaddr && *address - segment.p_vaddr < segment.p_filesz)
        return *address - segment.p_vaddr + segment.p_offset;
    return std::nullopt;
  }

 private:
  std::string_view file_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Dyn> entries_;
};

template <typename Header, typename Segment>
Interpreter loader_in(std::string_view file, bool is_64_bit) {
  const auto header = read_at<Header>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
  for (int i = 0; i < header->e_phnum; i++) {
    const auto segment = read_at<Segment>(file, header->e_phoff + static_cast<std::size_t>(i) * sizeof(Segment));
    if (!segment) break;
    if (segment->p_type != PT_INTERP) continue;
    const std::string_view text = part(file, segment->p_offset, segment->p_filesz);
    return {Interpreter::Kind::kLoader, std::string(text.substr(0, text.find('\0'))), is_64_bit};
  }
  return {};
}

void add_newest(std::vector<SymbolVersion>& versions, SymbolVersion added) {
  for (SymbolVersion& known : versions) {
    if (known.name != added.name) continue;
    known.numbers = std::max(known.numbers, added.numbers);
    return;
  }
  versions.push_back(std::move(added));
}

std::vector<SymbolVersion> needed_versions(std::string_view file, const Dynamic& dynamic) {
  std::vector<SymbolVersion> result;
  auto at = dynamic.offset_of(DT_VERNEED);
  for (auto left = dynamic.value(DT_VERNEEDNUM).value_or(0); at && left > 0; left--) {
    const auto library = read_at<Elf64_Verneed>(file, *at);
    if (!library) break;
    std::uint64_t entry = *at + library->vn_aux;
    for (int i = 0; i < library->vn_cnt; i++) {
      const auto version = read_at<Elf64_Vernaux>(file, entry);
      if (!version) break;
      if ((version->vna_flags & VER_FLG_WEAK) == 0) add_newest(result, parsed_version(dynamic.text(version->vna_name)));
      entry += version->vna_next;
    }
    if (library->vn_next == 0) break;
    *at += library->vn_next;
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

SymbolVersion parsed_version(std::string_view text) {
  const std::size_t line = text.rfind('_');
  SymbolVersion result{std::string(text.substr(0, line)), {}};
  if (line == std::string_view::npos) return {std::string(text), {}};
  for (absl::string_view word : absl::StrSplit(absl::string_view(text.data(), text.size()).substr(line + 1), '.')) {
    int number = 0;
    if (!absl::SimpleAtoi(word, &number)) return {std::string(text), {}};
    result.numbers.push_back(number);
  }
  return result;
}

std::string SymbolVersion::text() const {
  return numbers.empty() ? name : absl::StrCat(name, "_", absl::StrJoin(numbers, "."));
}

absl::StatusOr<LibraryNeeds> library_needs(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return file.status();
  if (!is_elf_64((*file)->bytes())) return absl::InvalidArgumentError(absl::StrCat(path, " is no library"));
  const Dynamic dynamic((*file)->bytes());
  return LibraryNeeds{dynamic.needed(), needed_versions((*file)->bytes(), dynamic)};
}

std::vector<SymbolVersion> versions_beyond(const LibraryNeeds& needs, const std::vector<LibraryNeeds>& given) {
  std::vector<SymbolVersion> result;
  for (const SymbolVersion& version : needs.versions) {
    const bool is_given = std::ranges::any_of(given, [&](const LibraryNeeds& other) {
      return std::ranges::any_of(other.versions, [&](const SymbolVersion& had) {
        return had.name == version.name && had.numbers >= version.numbers;
      });
    });
    if (!is_given) result.push_back(version);
  }
  return result;
}

absl::StatusOr<std::string> section_of(const std::string& path, std::string_view name) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return file.status();
  const std::string_view bytes = (*file)->bytes();
  if (!is_elf_64(bytes)) return "";
  const auto header = *read_at<Elf64_Ehdr>(bytes, 0);
  const auto section = [&](std::size_t i) {
    return read_at<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  const auto names = section(header.e_shstrndx);
  for (std::size_t i = 0; names && i < header.e_shnum; i++) {
    const auto one = section(i);
    if (!one) break;
    const std::string_view rest = part(bytes, names->sh_offset + one->sh_name, std::string_view::npos);
    if (rest.substr(0, rest.find('\0')) == name) return std::string(part(bytes, one->sh_offset, one->sh_size));
  }
  return "";
}

absl::StatusOr<Interpreter> interpreter_of(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return file.status();
  const std::string_view bytes = (*file)->bytes();
  if (bytes.starts_with("#!")) {
    std::string_view line = bytes.substr(2, bytes.find('\n') - 2);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return Interpreter{Interpreter::Kind::kScript, std::string(line.substr(0, line.find_first_of(" \t\r"))), true};
  }
  if (is_elf_64(bytes)) return loader_in<Elf64_Ehdr, Elf64_Phdr>(bytes, true);
  return loader_in<Elf32_Ehdr, Elf32_Phdr>(bytes, false);
}

absl::StatusOr<std::string> library_key(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return file.status();
  std::string id = build_id((*file)->bytes());
  if (!id.empty()) return id;
  return absl::StrCat((*file)->info.st_size, "-", (*file)->info.st_mtime);
}

absl::StatusOr<bool> file_contains(const std::string& path, std::string_view text) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return file.status();
  std::string_view bytes = (*file)->bytes();
  if (bytes.empty()) return text.empty();
  return memmem(bytes.data(), bytes.size(), text.data(), text.size()) != nullptr;
}

}  // namespace castscope::cli
