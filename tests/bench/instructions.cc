// Callgrind counts the instructions of this code, run with --instr-atstart=no. The header comes with valgrind.
#include <valgrind/callgrind.h>

extern "C" __attribute__((visibility("default"), noinline)) void castscope_bench_measured(void (*work)()) {
  CALLGRIND_START_INSTRUMENTATION;
  work();
  CALLGRIND_STOP_INSTRUMENTATION;
}
