// What callgrind is told to count: --toggle-collect=castscope_bench_measured.
extern "C" __attribute__((visibility("default"), noinline)) void castscope_bench_measured(void (*work)()) {
  work();
  asm volatile("");  // no tail call: the function is left when the work is done
}
