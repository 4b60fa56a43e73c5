#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/preload/preload.h"

/* One file per text in the run directory: the first process to create it speaks. The text stands in it, for the
 * report. */
static bool is_first_to_say(const char* sentence) {
  if (!run_make_directory()) return true;
  uint64_t hash = 1469598103934665603u; /* FNV-1a */
  for (const char* c = sentence; *c != '\0'; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
  char path[PATH_MAX + 64];
  snprintf(path, sizeof(path), "%s/said-%016llx", run_directory(), (unsigned long long)hash);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  ssize_t ignored = write(fd, sentence, strlen(sentence));
  (void)ignored;
  close(fd);
  return true;
}

void say(const char* sentence) {
  if (!is_first_to_say(sentence)) return;
  char line[2048];
  int n = snprintf(line, sizeof(line), "castscope: %s\n", sentence);
  if (n < 0) return;
  size_t length = (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1;
  /* A stderr that nobody reads must not cost the job its life: hold SIGPIPE back, and take it if it was ours. */
  sigset_t pipe_signal, before, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  ssize_t written = write(STDERR_FILENO, line, length);
  if (written < 0 && !sigismember(&pending, SIGPIPE)) {
    struct timespec none = {0, 0};
    sigtimedwait(&pipe_signal, NULL, &none);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
