/* Opening a file of ours inside the job, whose descriptors are its own: it closes all of them to become a daemon, and
 * some are started without 0, 1 or 2. So: close what this returns before the job can run on, keep no number. C and C++.
 */
#ifndef CASTSCOPE_LANES_DESCRIPTOR_H
#define CASTSCOPE_LANES_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#ifndef O_PATH
#define O_PATH 010000000
#endif

/* Never 0, 1 or 2, not for a moment: what another thread prints meanwhile would stand in our file. Where one of them is
 * closed it is taken by a descriptor that nothing can be written to, as nothing could before. -1 with errno. */
static inline int castscope_open(const char* path, int flags) {
  int held[3];
  int holding = 0;
  if (fcntl(0, F_GETFD) < 0 || fcntl(1, F_GETFD) < 0 || fcntl(2, F_GETFD) < 0) {
    for (int fd = 0; holding < 3 && (fd = open("/", O_PATH | O_CLOEXEC)) >= 0;) {
      if (fd > 2) {
        close(fd);
        break;
      }
      held[holding++] = fd;
    }
  }
  int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
  int error = errno;
  if (fd >= 0 && fd <= 2) { /* somebody closed one just now */
    close(fd);
    fd = -1;
    error = EMFILE;
  }
  while (holding > 0) close(held[--holding]);
  errno = error;
  return fd;
}

#endif
