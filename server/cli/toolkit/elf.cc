#include "server/cli/toolkit/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace castscope::cli {
namespace {

class MappedFile {
 public:
  static absl::StatusOr<std::unique_ptr<MappedFile>> open(const std::string& path) {
    auto file = std::make_unique<MappedFile>();
    int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &file->info) != 0) {
      std::string why = strerror(errno);
      if (fd >= 0) close(fd);
      return absl::NotFoundError(absl::StrCat(path, " cannot be read: ", why));
    }
    if (file->info.st_size > 0) {
      file->address = mmap(nullptr, static_cast<std::size_t>(file->info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
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

std::string build_id(std::string_view file) {
  auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return "";
  for (int i = 0; i < header->e_phnum; i++) {
    auto segment = read_at<Elf64_Phdr>(file, header->e_phoff + static_cast<std::size_t>(i) * sizeof(Elf64_Phdr));
    if (!segment) return "";
    if (segment->p_type != PT_NOTE || segment->p_offset > file.size()) continue;
    std::string id = build_id_in(file.substr(segment->p_offset, segment->p_filesz));
    if (!id.empty()) return id;
  }
  return "";
}

}  // namespace

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
