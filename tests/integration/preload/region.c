/* A program in C that enters an autocast region and leaves it: region [--without-keys] LIBRARY…; the last is
 * libtorch_cpu. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  int first = argc > 1 && strcmp(argv[1], "--without-keys") == 0 ? 2 : 1;
  for (int i = first; i < argc; i++) {
    if (dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL) != NULL) continue;
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  pthread_key_t key;
  while (first == 2 && pthread_key_create(&key, NULL) == 0) {
  }
  int (*enter)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "_ZN2at8autocast17increment_nestingEv");
  int (*leave)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "_ZN2at8autocast17decrement_nestingEv");
  printf("%d\n", enter());
  printf("%d\n", leave());
  return 0;
}
