// Calls fake_blas.cc in each way that the linker has words for: through the procedure linkage table, through an address
// that is taken, through an address in a table.
extern "C" int fakeblasMultiply(int a, int b);
extern "C" int fakeblasAdd(int a, int b);

namespace {
using Function = int (*)(int, int);
extern const Function kTable[];
const Function kTable[] = {fakeblasMultiply, fakeblasAdd};
volatile int g_index = 0;
}  // namespace

extern "C" int call_multiply(int a, int b) { return fakeblasMultiply(a, b); }
extern "C" int call_add(int a, int b) { return fakeblasAdd(a, b); }
#ifndef CALLS_ONLY
extern "C" Function address_of_add() { return fakeblasAdd; }
extern "C" int call_by_table(int a, int b) { return kTable[g_index](a, b); }
#endif
