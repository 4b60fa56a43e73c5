/* What glibc has only since 2.32 and 2.33, for the libraries that must load into older ones. One source of each library
 * includes this file; the others then find these instead of glibc's, and nobody outside of the library does. */
#ifndef CASTSCOPE_FLOOR_OWN_VERSIONS_H
#define CASTSCOPE_FLOOR_OWN_VERSIONS_H

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CASTSCOPE_HIDDEN __attribute__((visibility("hidden")))

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33) /* older headers make a call of __xstat of it */
CASTSCOPE_HIDDEN int stat(const char* path, struct stat* info) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, info, 0);
}

CASTSCOPE_HIDDEN int lstat(const char* path, struct stat* info) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW);
}

CASTSCOPE_HIDDEN int fstat(int fd, struct stat* info) { return (int)syscall(SYS_fstat, fd, info); }
#endif

/* libstdc++ leaves out atomic instructions while a process has one thread. Here it never does. */
CASTSCOPE_HIDDEN char __libc_single_threaded = 0;

#undef CASTSCOPE_HIDDEN

#ifdef __cplusplus
}
#endif

#endif
