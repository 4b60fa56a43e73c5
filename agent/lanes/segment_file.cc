#include "agent/lanes/segment_file.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "agent/lanes/descriptor.h"
#include "agent/lanes/format.h"

namespace castscope::lanes {
namespace {

constexpr std::uint64_t kReserveStep = 256 << 10;  // reserve this much at a time

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

std::string sentence(const std::string& what, const std::string& path, int error) {
  return what + " " + path + ": " + std::strerror(error);
}

// Beyond the limit on file sizes (ulimit -f) the kernel would not only refuse, but also kill the job by SIGXFSZ.
std::uint64_t largest_file() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? ~std::uint64_t{0} : limit.rlim_cur;
}

// The kernel touches the page for us, to answer a question whose answer we do not need: where we would get a SIGBUS, it
// gets EFAULT. This needs no descriptor, and nothing that a sandbox or an old kernel lacks (MADV_POPULATE_WRITE came
// with Linux 5.14).
bool back(char* page) {
  constexpr std::size_t kSignalSetBytes = 8;  // size of the kernel's signal set
  if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, page, kSignalSetBytes) != 0) return false;
  std::memset(page, 0, kSignalSetBytes);
  return true;
}

std::uint64_t free_in(const struct statvfs& fs) {
  if (fs.f_blocks == 0) return ~std::uint64_t{0};  // a tmpfs without a limit
  return std::uint64_t{fs.f_bavail} * fs.f_frsize;
}

}  // namespace

std::unique_ptr<SegmentFile> SegmentFile::create(const std::string& directory, std::uint64_t max_bytes,
                                                 std::string* error) {
  std::unique_ptr<SegmentFile> self(new SegmentFile);
  self->directory_ = directory;
  int fd = -1;
  for (std::uint32_t n = 0; fd < 0; ++n) {
    self->number_ = n;
    self->path_ = directory + "/" + std::to_string(getpid()) + "-" + std::to_string(n) + ".lanes";
    fd = castscope_open(self->path_.c_str(), O_RDWR | O_CREAT | O_EXCL);
    if (fd < 0 && errno != EEXIST) {
      *error = sentence("cannot make", self->path_, errno);
      return nullptr;
    }
  }
  const bool mapped = self->map(fd, max_bytes, error);
  close(fd);
  if (!mapped) {
    self->remove();
    return nullptr;
  }
  self->start_ticks_ = own_start_ticks();
  return self;
}

bool SegmentFile::map(int fd, std::uint64_t max_bytes, std::string* error) {
  const std::uint64_t bytes = std::min(max_bytes, largest_file()) & ~(kPage - 1);
  if (bytes == 0) {
    *error = sentence("no room in", directory_, EFBIG);
    return false;
  }
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    *error = sentence("cannot make", path_, errno);
    return false;
  }
  struct statvfs fs {};
  free_bytes_ = fstatvfs(fd, &fs) == 0 ? free_in(fs) : ~std::uint64_t{0};
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) {
    *error = sentence("cannot map", path_, errno);
    return false;
  }
  base_ = static_cast<char*>(base);
  max_bytes_ = bytes;
  return true;
}

SegmentFile::~SegmentFile() {
  if (base_ != nullptr) munmap(base_, max_bytes_);
}

void SegmentFile::remove() const { unlink(path_.c_str()); }

bool SegmentFile::reserve(std::uint64_t end) {
  if (end <= reserved_) return true;
  if (end > max_bytes_) {
    errno = ENOSPC;
    return false;
  }
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t needed = std::min(max_bytes_, round_up(end, page)),
                      wanted = std::min(max_bytes_, round_up(end, kReserveStep));
  std::uint64_t have = reserved_;
  while (have < wanted && back(base_ + have)) have += page;
  const bool enough = have >= needed;
  const std::uint64_t kept = have >= wanted ? wanted : enough ? needed : reserved_;
  // Does not keep the last of the room: the job's DataLoader needs it.
  if (have > kept) madvise(base_ + kept, have - kept, MADV_REMOVE);
  reserved_ = kept;
  if (!enough) errno = ENOSPC;
  return enough;
}

std::uint64_t SegmentFile::free_bytes() {
  struct statvfs fs {};
  if (statvfs(path_.c_str(), &fs) == 0) free_bytes_ = free_in(fs);
  return free_bytes_;
}

std::uint64_t own_start_ticks() {
  const int fd = castscope_open("/proc/self/stat", O_RDONLY);
  if (fd < 0) return 0;
  char text[1024];
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return 0;
  text[n] = 0;
  // The second field is the command in parentheses and may hold spaces: start after the last one.
  const char* p = std::strrchr(text, ')');
  for (int field = 2; p != nullptr && field < 22; ++field) p = std::strchr(p + 1, ' ');
  return p == nullptr ? 0 : std::strtoull(p + 1, nullptr, 10);
}

}  // namespace castscope::lanes
