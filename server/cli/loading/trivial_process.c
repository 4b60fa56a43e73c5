/* The program that castscope runs with the job's own loader and environment, to see whether the preload library loads
 * there. It does nothing else. It prints one line, "<version of glibc> <yes or no>": whether the library is in this
 * process.
 *
 * It begins without start files (crt1.o), since those of a newer glibc ask for GLIBC_2.34. glibc is ready all the same:
 * the loader has initialised it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/machine/start.h"

#pragma weak gnu_get_libc_version /* musl has none */
extern const char* gnu_get_libc_version(void);

static size_t add(char* line, size_t at, const char* text) {
  while (*text != '\0' && at < 62) line[at++] = *text++;
  return at;
}

__attribute__((noreturn, used)) static void begin(void) {
  char line[64];
  size_t length = add(line, 0, gnu_get_libc_version != NULL ? gnu_get_libc_version() : "0");
  length = add(line, length, dlsym(RTLD_DEFAULT, "castscope_attached") != NULL ? " yes\n" : " no\n");
  ssize_t ignored = write(STDOUT_FILENO, line, length);
  (void)ignored;
  for (;;) _exit(0);
}

__asm__(CASTSCOPE_START(begin));
