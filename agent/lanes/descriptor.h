/* Opens a file of ours inside the job, whose descriptors are its own: a job may close all of them to become a daemon,
 * and some jobs are started without 0, 1 or 2. So close the returned descriptor before the job can run on, and keep no
 * number. C and C++. */
#ifndef CASTSCOPE_LANES_DESCRIPTOR_H
#define CASTSCOPE_LANES_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#ifndef O_PATH
#define O_PATH 010000000
#endif

/* Never returns 0, 1 or 2, nor opens the file there for a moment: the output of another thread would end up in our
 * file. A closed one of them is taken meanwhile by a descriptor that cannot be written to, as it could not before.
 * Returns -1 with errno on an error. */
static inline int castscope_open_with(const char* path, int flags) {
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
  int fd = open(path, flags | O_CLOEXEC, 0600);
  int error = errno;
  if (fd >= 0 && fd <= 2) { /* another thread closed one just now */
    close(fd);
    fd = -1;
    error = EMFILE;
  }
  while (holding > 0) close(held[--holding]);
  errno = error;
  return fd;
}

/* The same for a path that must be no link. */
static inline int castscope_open(const char* path, int flags) { return castscope_open_with(path, flags | O_NOFOLLOW); }

#endif
