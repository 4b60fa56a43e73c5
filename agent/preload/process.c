/* The begin and the end of every process that the library is mapped into, with PyTorch or without. */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/preload/preload.h"

static void (*next_exit)(int);

/* Looked up now: dlsym takes a lock, and _exit must work in a forked child whose other threads are gone. */
__attribute__((constructor)) static void begin(void) {
  next_exit = (void (*)(int))dlsym(RTLD_NEXT, "_exit");
  injected_begin();
  run_begin();
  run_note_replacement();
}

/* _exit runs no handlers, so that the end mark has to be written here. */
__attribute__((noreturn)) static void leave(int status) {
  agent_exit(status);
  if (next_exit != NULL) next_exit(status);
  for (;;) syscall(SYS_exit_group, status);
}

CASTSCOPE_API __attribute__((noreturn)) void _exit(int status) { leave(status); }
CASTSCOPE_API __attribute__((noreturn)) void _Exit(int status) { leave(status); }

/* A program with AddressSanitizer in a library of its own ends at once if another library comes before that one, as a
 * preloaded one does. AddressSanitizer asks this function, unless the program has one of its own, before it looks; what
 * stands in ASAN_OPTIONS goes before it. */
CASTSCOPE_API const char* __asan_default_options(void);
CASTSCOPE_API const char* __asan_default_options(void) { return "verify_asan_link_order=0"; }
