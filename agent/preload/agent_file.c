/* Finds the agent's file that fits the PyTorch of this process, and loads it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/preload/preload.h"

void preload_folder(char folder[PATH_MAX]) {
  Dl_info own;
  folder[0] = '\0';
  if (dladdr((void*)preload_folder, &own) == 0 || own.dli_fname == NULL) return;
  char resolved[PATH_MAX];
  /* Follow the link to the library's real folder. */
  if (realpath(own.dli_fname, resolved) == NULL) return;
  char* slash = strrchr(resolved, '/');
  if (slash == NULL) return;
  *slash = '\0';
  strcpy(folder, resolved);
}

struct trouble {
  char* why; /* CASTSCOPE_PROBLEM_BYTES */
  const char** way_out;
};

/* Returns NULL when there is none in this folder, or none that is good for anything. */
static void* load_from(const char* folder, size_t length, const char* suffix, const char* key, struct trouble trouble) {
  char path[PATH_MAX];
  int n = snprintf(path, PATH_MAX, "%.*s%s/castscope_agent-%s.so", (int)length, folder, suffix, key);
  if (length == 0 || n <= 0 || n >= PATH_MAX || access(path, R_OK) != 0) return NULL;
  if (!agent_is_whole(path)) {
    snprintf(trouble.why, CASTSCOPE_PROBLEM_BYTES, "the agent %s is damaged", path);
    *trouble.way_out = "`castscope run` builds it anew";
    return NULL;
  }
  void* agent = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (agent == NULL) {
    snprintf(trouble.why, CASTSCOPE_PROBLEM_BYTES, "the agent cannot be loaded (%s)", dlerror());
    *trouble.way_out = "delete it to have it built anew";
  }
  return agent;
}

void* agent_file_load(const char* key, char why[CASTSCOPE_PROBLEM_BYTES], const char** way_out) {
  struct trouble trouble = {why, way_out};
  why[0] = '\0';
  void* agent = NULL;
  const char* folders = environment_get("CASTSCOPE_AGENTS");
  while (agent == NULL && folders != NULL && folders[0] != '\0') {
    size_t length = strcspn(folders, ":");
    agent = load_from(folders, length, "", key, trouble);
    folders += length + (folders[length] == ':');
  }
  char own[PATH_MAX];
  preload_folder(own);
  if (agent == NULL) agent = load_from(own, strlen(own), "/agents", key, trouble);
  if (agent == NULL) agent = load_from(own, strlen(own), "", key, trouble);
  return agent;
}
