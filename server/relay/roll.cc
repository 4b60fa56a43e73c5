#include "server/relay/roll.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace castscope::relay {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::uint32_t loaded(const std::uint32_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

}  // namespace

std::unique_ptr<Roll> Roll::make() {
  const int fd = memfd_create("castscope-roll", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return nullptr;
  struct stat info {};
  void* memory = MAP_FAILED;
  // With its pages taken and its size sealed, no access to it can fail.
  if (posix_fallocate(fd, 0, sizeof(castscope_roll)) == 0 && fcntl(fd, F_ADD_SEALS, kSeals) == 0 &&
      fstat(fd, &info) == 0) {
    memory = mmap(nullptr, sizeof(castscope_roll), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (memory == MAP_FAILED) {
    close(fd);
    return nullptr;
  }
  auto* roll = static_cast<castscope_roll*>(memory);
  roll->magic = CASTSCOPE_ROLL_MAGIC;
  return std::unique_ptr<Roll>(new Roll(fd, roll, info.st_dev, info.st_ino));
}

std::unique_ptr<Roll> Roll::of_bare_run(const std::string& run_directory) {
  const std::string path = absl::StrCat(run_directory, "/" CASTSCOPE_BARE_ROLL);
  const int fd = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat info {};
  void* memory = MAP_FAILED;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == sizeof(castscope_roll))
    memory = mmap(nullptr, sizeof(castscope_roll), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    close(fd);
    return nullptr;
  }
  std::unique_ptr<Roll> found(new Roll(fd, static_cast<castscope_roll*>(memory), info.st_dev, info.st_ino));
  return found->memory_->magic == CASTSCOPE_ROLL_MAGIC ? std::move(found) : nullptr;
}

bool Roll::is_whole() const {
  struct stat info {};
  return fstat(fd_, &info) == 0 && info.st_size == sizeof(castscope_roll);
}

Roll::~Roll() {
  run_is_over();
  munmap(memory_, sizeof(castscope_roll));
  close(fd_);
}

std::string Roll::variable(const std::string& run_directory) const {
  return absl::StrCat("CASTSCOPE_ROLL=", getpid(), ":", fd_, ":", device_, ":", inode_, ":", run_directory);
}

// What a process writes here is only believed to be a number.
std::vector<Call> Roll::take() {
  std::vector<Call> result;
  if (!is_whole()) return result;
  for (castscope_call& call : memory_->calls) {
    if (loaded(call.state) != CASTSCOPE_CALL_FILLED) continue;
    result.push_back({.kind = call.kind == CASTSCOPE_CALL_SEGMENT ? Call::Kind::kSegment : Call::Kind::kUnrecorded,
                      .pid = call.pid,
                      .segment = call.segment,
                      .start_ticks = call.start_ticks});
    __atomic_store_n(&call.state, CASTSCOPE_CALL_FREE, __ATOMIC_RELEASE);
  }
  return result;
}

bool Roll::has_torch() const { return is_whole() && loaded(memory_->with_torch) > 0; }

std::uint32_t Roll::lost() const { return is_whole() ? loaded(memory_->lost) : 0; }

std::vector<std::string> Roll::sentences() const {
  std::vector<std::string> result;
  if (!is_whole()) return result;
  for (const auto& slot : memory_->sentences) {
    if (__atomic_load_n(&slot[0], __ATOMIC_ACQUIRE) == '\0') continue;
    const char* const text = &slot[1];
    result.emplace_back(text, std::find(text, slot + sizeof slot, '\0'));
  }
  return result;
}

void Roll::run_is_over() {
  if (is_whole()) __atomic_store_n(&memory_->closed, 1u, __ATOMIC_RELEASE);
}

}  // namespace castscope::relay
