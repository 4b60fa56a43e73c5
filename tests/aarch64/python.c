/* A Python for 64-bit ARM that starts on this machine like any other: it runs the one in ROOT in qemu. It is static, so
 * that LD_PRELOAD, which is meant for the emulated process, has no effect on it.
 *
 * `castscope run` puts its own preload library into LD_PRELOAD, which is one for this machine. PRELOAD takes its place:
 * the library for the emulated processor, and own_stat.c after it.
 * SELF is the path of this program: Python starts children by it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_site(void) {
  const char* path = getenv("PYTHONPATH");
  if (path != NULL && strstr(path, SITE) != NULL) return;
  char* all = NULL;
  if (asprintf(&all, "%s%s%s", path != NULL ? path : "", path != NULL && path[0] != '\0' ? ":" : "", SITE) < 0)
    exit(127);
  setenv("PYTHONPATH", all, 1);
}

static void replace_preload(void) {
  const char* name = "/libcastscope.so";
  const char* preload = getenv("LD_PRELOAD");
  const char* found = preload != NULL ? strstr(preload, name) : NULL;
  if (found == NULL || strncmp(preload, PRELOAD, strlen(PRELOAD)) == 0) return;
  char* all = NULL;
  if (asprintf(&all, "%s%s", PRELOAD, found + strlen(name)) < 0) exit(127);
  setenv("LD_PRELOAD", all, 1);
}

int main(int count, char** arguments) {
  const char* before[] = {QEMU, "-L", ROOT, "-0", SELF, "-E", "PYTHONHOME=" ROOT "/usr", ROOT "/usr/bin/python3.11"};
  const size_t n = sizeof before / sizeof before[0];
  char** all = calloc(n + (size_t)count, sizeof *all);
  if (all == NULL) return 127;
  memcpy(all, before, sizeof before);
  for (int i = 1; i < count; i++) all[n + (size_t)i - 1] = arguments[i];
  add_site();
  replace_preload();
  execv(QEMU, all);
  perror(QEMU);
  return 127;
}
