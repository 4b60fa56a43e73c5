#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/preload/preload.h"

extern char** environ;

/* NAME=VALUE, each with an end, and an empty one behind them: of a process that did not get them when it began. They
 * are not put into its environment, which its children inherit. */
static const char* given = "";
void environment_give(const char* assignments) { given = assignments; }

const char* environment_get(const char* name) {
  size_t length = strlen(name);
  for (const char* entry = given; *entry != '\0'; entry += strlen(entry) + 1)
    if (strncmp(entry, name, length) == 0 && entry[length] == '=') return entry + length + 1;
  for (char** entry = environ; entry != NULL && *entry != NULL; entry++)
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  return NULL;
}

bool environment_add(const char* assignment) {
  size_t count = 0;
  while (environ != NULL && environ[count] != NULL) count++;
  /* Not setenv: it allocates, and in bash it is bash's own. The pages live as long as the process. */
  char** copy = mmap(NULL, (count + 2) * sizeof(char*), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return false;
  if (count > 0) memcpy(copy, environ, count * sizeof(char*));
  copy[count] = (char*)assignment;
  copy[count + 1] = NULL;
  environ = copy;
  return true;
}
