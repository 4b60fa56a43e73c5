/* For an emulated process: opens the kernel's own /proc/self/stat. qemu makes up another one, in which the start of the
 * process is later by some ticks, so that whoever reads the segments would think that the process has ended. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int open(const char* path, int flags, ...) {
  static int (*next)(const char*, int, ...);
  if (next == NULL) next = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open");
  va_list more;
  va_start(more, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(more, int) : 0;
  va_end(more);
  char own[64];
  if (strcmp(path, "/proc/self/stat") != 0) return next(path, flags, mode);
  snprintf(own, sizeof own, "/proc/%d/task/%d/stat", getpid(), getpid());
  return next(own, flags, mode);
}
