/* Starts `castscope relay` for a bare LD_PRELOAD, so that the job does not notice: no child that its wait() would see,
 * no SIGCHLD, none of its files held open, not in its session. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/preload/preload.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

extern char** environ;
#define MAX_ENVIRONMENT 4096
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu /* PROC_PID_INIT_INO of the kernel */
#define LONGEST_WAIT_MS 10000

/* Only system calls from here on: in a copy of a process whose other threads may have held any lock. */
__attribute__((noreturn)) static void become_relay(const char* program, char* const* arguments, char** environment) {
  syscall(SYS_setsid);
  /* The middle process ends at once; the relay then belongs to init. */
  if (syscall(SYS_clone, 0, NULL, NULL, NULL, NULL) != 0) syscall(SYS_exit_group, 0);
  int null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
  for (int fd = 0; fd < 3; fd++) syscall(SYS_dup3, null, fd, 0); /* where it is `fd` already, this changes nothing */
  if (syscall(SYS_close_range, 3, ~0u, 0) != 0)
    for (int fd = 3; fd < 65536; fd++) syscall(SYS_close, fd); /* a kernel before 5.9 */
  unsigned long long no_signals = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, NULL, sizeof(no_signals));
  syscall(SYS_execve, program, arguments, environment);
  for (;;) syscall(SYS_exit_group, 127);
}

static const char* find_program(char path[PATH_MAX]) {
  const char* named = environment_get("CASTSCOPE_BIN");
  if (named != NULL && access(named, X_OK) == 0) return named;
  char folder[PATH_MAX];
  preload_folder(folder);
  int n = snprintf(path, PATH_MAX, "%s/castscope", folder);
  return n > 0 && n < PATH_MAX && access(path, X_OK) == 0 ? path : NULL;
}

/* A container ends when its first process does, and takes all others with it, the relay among them. What starts the job
 * there may be that first process itself, so it is enough to be its child. */
static bool may_end_container(void) {
  struct stat info;
  if (getpid() == 1) return true;
  return getppid() == 1 && stat("/proc/self/ns/pid", &info) == 0 && info.st_ino != INITIAL_PID_NAMESPACE;
}

/* The relay waits for the processes of the run: this one tells it that nothing more will come. */
void relay_wait_for(void) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof(path), "%s/relay.lock", run_directory());
  if (!run_is_bare() || !may_end_container() || access(path, F_OK) != 0) return;
  int error = errno;
  snprintf(path, sizeof(path), "%d.leaving", (int)getpid());
  if (run_claim(path)) {
    const struct timespec moment = {0, 20 * 1000 * 1000};
    for (int waited_ms = 0; waited_ms < LONGEST_WAIT_MS && access(run_directory(), F_OK) == 0; waited_ms += 20)
      nanosleep(&moment, NULL);
  }
  errno = error;
}

void relay_start(void) {
  if (!run_claim("relay.lock")) return; /* the run has one */
  char path[PATH_MAX];
  const char* program = find_program(path);
  if (program == NULL) {
    say("no relay can be started, since CASTSCOPE_BIN does not name the castscope program: "
        "`castscope recover` lists the run when the job has ended, and says how to make its file.");
    return;
  }
  const char* collector = environment_get("CASTSCOPE_COLLECTOR");
  const char* arguments[] = {program, "relay", "--run-dir", run_directory(), NULL, NULL, NULL};
  if (collector != NULL && collector[0] != '\0') {
    arguments[4] = "--collector";
    arguments[5] = collector;
  }
  static char* environment[MAX_ENVIRONMENT];
  size_t n = 0;
  for (char** entry = environ; *entry != NULL && n + 1 < MAX_ENVIRONMENT; entry++)
    if (strncmp(*entry, "LD_PRELOAD=", 11) != 0) environment[n++] = *entry;
  environment[n] = NULL;
  /* Not fork(): handlers registered for it belong to the job, and a child without an exit signal is invisible to a
   * wait() without __WALL. */
  long child = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
  if (child == 0) become_relay(program, (char* const*)arguments, environment);
  if (child < 0) {
    say("no relay can be started (fork fails): "
        "`castscope recover` lists the run when the job has ended, and says how to make its file.");
    return;
  }
  while (waitpid((pid_t)child, NULL, __WCLONE) < 0 && errno == EINTR) {
  }
}
