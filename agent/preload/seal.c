/* Whether an agent's file is whole: agent/interposed/seal.h. */
#include "agent/interposed/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/lanes/descriptor.h"
#include "agent/preload/preload.h"

/* Fills the buffer as far as the file goes on. It is read, not mapped: another process may cut it short meanwhile. */
static size_t read_piece(int fd, char* buffer, size_t size) {
  size_t have = 0;
  while (have < size) {
    ssize_t n = read(fd, buffer + have, size - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    have += (size_t)n;
  }
  return have;
}

static bool is_whole(int fd, uint64_t size) {
  struct castscope_seal seal;
  if (size <= sizeof(seal) || pread(fd, &seal, sizeof(seal), (off_t)(size - sizeof(seal))) != sizeof(seal))
    return false;
  if (seal.mark != CASTSCOPE_SEAL_MARK || seal.bytes != size - sizeof(seal)) return false;
  char buffer[16384];
  uint64_t hash = CASTSCOPE_FNV1A_START, left = seal.bytes;
  while (left > 0) {
    size_t wanted = left < sizeof(buffer) ? (size_t)left : sizeof(buffer);
    if (read_piece(fd, buffer, wanted) != wanted) return false;
    hash = castscope_seal_hash(hash, buffer, wanted);
    left -= wanted;
  }
  return hash == seal.hash;
}

bool agent_is_whole(const char* path) {
  int fd = castscope_open_with(path, O_RDONLY | O_NONBLOCK); /* a pipe would keep the job waiting */
  if (fd < 0) return false;
  struct stat info;
  bool whole = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && is_whole(fd, (uint64_t)info.st_size);
  close(fd);
  return whole;
}
