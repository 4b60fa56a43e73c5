/* Stands for libtorch_cpu.so: two of the hooked names with signatures that use every register an argument can come in,
 * so that a stub which loses one is found. */
#include <stdarg.h>
#include <stdio.h>

void _ZN2at4_ops18_amp_update_scale_4callERNS_6TensorES3_RKS2_ddl(void) {}

/* Six integers, eight doubles, two more of each on the stack. */
long _ZN2at8autocast11cached_castEN3c1010ScalarTypeERKNS_6TensorENS1_10DeviceTypeE(long a, long b, long c, long d,
                                                                                   long e, long f, double p, double q,
                                                                                   double r, double s, double t,
                                                                                   double u, double v, double w, long g,
                                                                                   long h, double x, double y) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h +
         (long)(p + 10 * q + 20 * r + 30 * s + 40 * t + 50 * u + 60 * v + 70 * w + 80 * x + 90 * y);
}

/* Variadic: rax holds the number of vector registers. */
double _ZN2at8autocast11clear_cacheEv(int n, ...) {
  va_list list;
  va_start(list, n);
  double sum = 0;
  for (int i = 0; i < n; i++) sum += va_arg(list, double);
  va_end(list);
  return sum;
}
