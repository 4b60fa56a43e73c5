/* Calls the fake libtorch as a program that never calls initModule does, from several threads at once. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef long (*cached_cast)(long, long, long, long, long, long, double, double, double, double, double, double, double,
                            double, long, long, double, double);
typedef double (*clear_cache)(int, ...);

static cached_cast cast;
static clear_cache clear;

static void* call(void* unused) {
  (void)unused;
  for (int i = 0; i < 1000; i++) {
    long got = cast(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 7, 8, 7, 8, 9, 10);
    if (got != 204 + 3301) {
      printf("cached_cast gave %ld\n", got);
      exit(1);
    }
    double sum = clear(10, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0);
    if (sum != 55) {
      printf("clear_cache gave %f\n", sum);
      exit(1);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 2 || dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) == NULL) return 2;
  /* As libtorch's own calls do: through the global scope, where the preloaded names stand first. */
  cast =
      (cached_cast)dlsym(RTLD_DEFAULT, "_ZN2at8autocast11cached_castEN3c1010ScalarTypeERKNS_6TensorENS1_10DeviceTypeE");
  clear = (clear_cache)dlsym(RTLD_DEFAULT, "_ZN2at8autocast11clear_cacheEv");
  if (cast == NULL || clear == NULL) return 3;
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, call, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  puts("all arguments arrived");
  return 0;
}
