// A library that tests load, in two copies: COPY tells them apart.
extern "C" int fakeblasMultiply(int a, int b) { return a * b + COPY; }
extern "C" int fakeblasAdd(int a, int b) { return a + b + COPY; }
// Calls its own function through a word that the linker fills, since another object might come before it.
extern "C" int fakeblas_call_add(int a, int b) { return fakeblasAdd(a, b); }
