/* Stands for an agent: counts calls of cached_cast, and writes what it was told into the run directory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/interposed/interface.h"

static const struct castscope_preload* table;
static long calls;

static void note(const char* format, long value) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/fake-agent.txt", table->run_directory);
  FILE* file = fopen(path, "a");
  fprintf(file, format, value);
  fclose(file);
}

__attribute__((visibility("default"))) int castscope_agent_start(const struct castscope_preload* given) {
  if (given->abi != CASTSCOPE_PRELOAD_ABI || given->hook_count != CASTSCOPE_HOOK_COUNT) return 1;
  const char *begun = getenv("FAKE_AGENT_TELLS"), *go_on = getenv("FAKE_AGENT_WAITS"); /* FIFOs */
  if (begun != NULL) fclose(fopen(begun, "w"));
  if (go_on != NULL) fclose(fopen(go_on, "r"));
  const char* refusal = getenv("FAKE_AGENT_REFUSES");
  if (refusal != NULL) return snprintf(given->refusal, CASTSCOPE_REFUSAL_BYTES, "%s", refusal);
  table = given;
  note("start in %ld\n", (long)getpid());
  return 0;
}
__attribute__((visibility("default"))) void castscope_agent_exit(int status) { note("exit with %ld\n", (long)status); }
__attribute__((visibility("default"))) void castscope_agent_step(void) { calls++; }
