#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "agent/hash/fnv1a.h"
#include "agent/lanes/descriptor.h"
#include "agent/preload/preload.h"
#include "agent/preload/unfiled.h"

#define UNFILED_BYTES (CASTSCOPE_UNFILED_SLOTS * CASTSCOPE_UNFILED_SLOT_BYTES)
static char (*unfiled)[CASTSCOPE_UNFILED_SLOT_BYTES];

void say_prepare(void) {
  char path[PATH_MAX + 64];
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < UNFILED_BYTES) return; /* it would be a signal */
  snprintf(path, sizeof(path), "%s/" CASTSCOPE_UNFILED, run_directory());
  int fd = castscope_open(path, O_RDWR | O_CREAT);
  if (fd < 0) return;
  void* page = MAP_FAILED;
  if (posix_fallocate(fd, 0, UNFILED_BYTES) == 0)
    page = mmap(NULL, UNFILED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (page != MAP_FAILED) unfiled = page;
}

/* Returns false when the sentence is there already, or there is no room for more. */
static bool note_unfiled(char (*slots)[CASTSCOPE_UNFILED_SLOT_BYTES], const char* sentence) {
  for (int i = 0; i < CASTSCOPE_UNFILED_SLOTS; i++) {
    char* slot = slots[i];
    char none = '\0';
    if (__atomic_compare_exchange_n(slot, &none, '!', false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      snprintf(slot + 1, CASTSCOPE_UNFILED_SLOT_BYTES - 1, "%s", sentence);
      return true;
    }
    if (strncmp(slot + 1, sentence, CASTSCOPE_UNFILED_SLOT_BYTES - 2) == 0) return false;
  }
  return false;
}

/* One file per text in the run directory: the process that creates it says the sentence. The file has the text, for
 * the report. */
static bool is_first_to_say(const char* sentence) {
  if (unfiled != NULL || roll_is_read() ? run_has_directory() : run_make_directory()) {
    uint64_t hash = castscope_fnv1a(CASTSCOPE_FNV1A_SHORT_START, sentence, strlen(sentence));
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/said-%016llx", run_directory(), (unsigned long long)hash);
    int fd = castscope_open(path, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0 && errno == EEXIST) return false;
    if (fd >= 0) {
      ssize_t ignored = write(fd, sentence, strlen(sentence));
      (void)ignored;
      close(fd);
      return true;
    }
  }
  bool is_first = unfiled == NULL || note_unfiled(unfiled, sentence);
  if (roll_is_read()) return note_unfiled(roll_sentences(), sentence);
  if (unfiled == NULL) return true;
  /* There is no such folder: the run is over and nobody reads any more; or this process has another root, and the
   * report will say the sentence. */
  bool gone = access(run_directory(), F_OK) != 0 && errno == ENOENT;
  return is_first && !gone;
}

/* A stderr that nobody reads, or a limit on file sizes, must not cost the job its life: block the signals that writing
 * may raise, and take them off if our write raised them. */
static void write_line(const char* line, size_t length) {
  sigset_t of_writing, before, pending;
  sigemptyset(&of_writing);
  sigaddset(&of_writing, SIGPIPE);
  sigaddset(&of_writing, SIGXFSZ);
  sigpending(&pending);
  sigprocmask(SIG_BLOCK, &of_writing, &before);
  ssize_t ignored = write(STDERR_FILENO, line, length);
  (void)ignored;
  if (sigismember(&pending, SIGPIPE)) sigdelset(&of_writing, SIGPIPE);
  if (sigismember(&pending, SIGXFSZ)) sigdelset(&of_writing, SIGXFSZ);
  struct timespec none = {0, 0};
  while (sigtimedwait(&of_writing, NULL, &none) > 0) {
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
}

static size_t at_most(int length, size_t room) {
  if (length < 0) return 0;
  return (size_t)length < room ? (size_t)length : room - 1;
}

void say(const char* sentence) {
  int error = errno;
  char line[2048];
  size_t length = at_most(snprintf(line, sizeof(line), "castscope: %s\n", sentence), sizeof(line));
  if (length > 0 && is_first_to_say(sentence)) write_line(line, length);
  errno = error;
}

static void write_with_pid(const char* text) {
  char line[2048];
  size_t length = at_most(snprintf(line, sizeof(line), "castscope[%d]: %s\n", (int)getpid(), text), sizeof(line));
  if (length > 0) write_line(line, length);
}

void say_in_each_process(const char* sentence) {
  int error = errno;
  (void)is_first_to_say(sentence);
  write_with_pid(sentence);
  errno = error;
}

bool log_is_on(void) {
  const char* level = environment_get("CASTSCOPE_LOG");
  return level != NULL && strcmp(level, "debug") == 0;
}

void log_line(const char* text) {
  int error = errno;
  write_with_pid(text);
  errno = error;
}
