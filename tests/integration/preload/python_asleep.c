/* A program that brings a Python and never initializes it, and enters an autocast region: python_asleep LIBPYTHON
 * LIBTORCH_CPU */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    if (dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL) != NULL) continue;
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int (*enter)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "_ZN2at8autocast17increment_nestingEv");
  int (*leave)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "_ZN2at8autocast17decrement_nestingEv");
  printf("%d\n", enter());
  printf("%d\n", leave());
  return 0;
}
