/* A process that has PyTorch, and no agent. It runs on unobserved: the job matters more than the record of it. Not so
 * where a policy was to be carried out: in other precisions than were asked for it would be another job, so that the
 * process ends. That is before PyTorch's first operator, since agents are loaded in the import of torch, or at the
 * first use of autocast. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/preload/preload.h"

#define STATUS_OF_REFUSAL 125 /* docs/exit-statuses.md */

static bool is_set(const char* name) {
  const char* value = environment_get(name);
  return value != NULL && value[0] != '\0';
}

bool policy_is_asked_for(void) { return is_set("CASTSCOPE_ENFORCE"); }
static bool policy_is_demanded(void) { return policy_is_asked_for() && !is_set("CASTSCOPE_ENFORCE_IF_POSSIBLE"); }

/* server/cli/job/run_directory.cc looks for "unobserved" in what was said. */
void unobserved(const char* why, const char* way_out) {
  char text[PATH_MAX + 2048];
  const char* const then = way_out != NULL ? "; " : "";
  if (way_out == NULL) way_out = "";
  if (!policy_is_demanded()) {
    const char* const policy = policy_is_asked_for() ? ", without the policy that was to be enforced" : "";
    snprintf(text, sizeof(text), "%s: the job runs on unobserved%s%s%s.", why, policy, then, way_out);
    say(text);
    return;
  }
  snprintf(text, sizeof(text),
           "%s: the policy of --enforce cannot be carried out, and this process ends before PyTorch's first operator, "
           "with status %d%s%s; with --enforce-if-possible it would run on unobserved, without the policy.",
           why, STATUS_OF_REFUSAL, then, way_out);
  say_in_each_process(text);
}

/* What the job has written to sys.stdout is still in Python's own buffer, and the end below would lose it. */
static void flush_python(const char* stream) {
  int (*has_gil)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Check");
  void* (*get)(const char*) = (void* (*)(const char*))dlsym(RTLD_DEFAULT, "PySys_GetObject");
  void* (*call)(void*, const char*, const char*, ...) =
      (void* (*)(void*, const char*, const char*, ...))dlsym(RTLD_DEFAULT, "PyObject_CallMethod");
  if (has_gil == NULL || get == NULL || call == NULL || !has_gil()) return;
  void* file = get(stream);
  if (file != NULL) call(file, "flush", NULL);
}

/* A file that another thread holds is left alone, since that thread may wait in it for its input. */
static void flush_c(FILE* file) {
  if (ftrylockfile(file) != 0) return;
  fflush(file);
  funlockfile(file);
}

/* Not exit(), and no exception in Python: handlers and destructors would run in the middle of the import, a thread that
 * waits for this one would keep the process from ending, and code that catches everything would go on. */
void end_without_policy(void) {
  if (!policy_is_demanded()) return;
  flush_python("stdout");
  flush_python("stderr");
  flush_c(stdout);
  flush_c(stderr);
  _exit(STATUS_OF_REFUSAL);
}
