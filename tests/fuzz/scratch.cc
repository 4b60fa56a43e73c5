#include "tests/fuzz/scratch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "tests/fuzz/fuzzer.h"

namespace castscope::fuzz {
namespace {

class ScratchFolder {
 public:
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / "castscope-fuzz-XXXXXX").string()) {
    CASTSCOPE_PROMISE(mkdtemp(path_.data()) != nullptr, "a fuzzer can make a folder for temporary files");
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

std::string scratch_path(const std::string& name) {
  static const ScratchFolder folder;
  return folder.path() + "/" + name;
}

std::string scratch_file(const std::string& name, std::string_view content) {
  std::string path = scratch_path(name);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const bool written = file >= 0 && ftruncate(file, static_cast<off_t>(content.size())) == 0 &&
                       pwrite(file, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size());
  CASTSCOPE_PROMISE(written, "a fuzzer can write a temporary file");
  close(file);
  return path;
}

bool Pieces::next(std::uint32_t* offset, std::string_view* bytes) {
  std::uint16_t length = 0;
  if (text_->size() < sizeof *offset) return false;
  std::memcpy(offset, text_->data(), sizeof *offset);
  text_->remove_prefix(sizeof *offset);
  if (*offset == std::numeric_limits<std::uint32_t>::max()) return false;
  if (text_->size() < sizeof length) return false;
  std::memcpy(&length, text_->data(), sizeof length);
  text_->remove_prefix(sizeof length);
  *bytes = text_->substr(0, length);
  text_->remove_prefix(bytes->size());
  return true;
}

void Pieces::put_over(std::string& file) {
  std::uint32_t offset = 0;
  std::string_view bytes;
  while (next(&offset, &bytes)) {
    if (offset >= file.size()) continue;
    std::copy_n(bytes.data(), std::min(bytes.size(), file.size() - offset), file.data() + offset);
  }
}

void Pieces::write_into(int file, std::uint64_t most) {
  std::uint32_t offset = 0;
  std::string_view bytes;
  while (next(&offset, &bytes)) {
    if (offset >= most) continue;
    const std::size_t length = std::min<std::uint64_t>(bytes.size(), most - offset);
    CASTSCOPE_PROMISE(pwrite(file, bytes.data(), length, offset) == static_cast<ssize_t>(length),
                      "a fuzzer can write a temporary file");
  }
}

}  // namespace castscope::fuzz
