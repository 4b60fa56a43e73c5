// A library that tests load, in two copies: COPY tells them apart.
extern "C" int fakeblasMultiply(int a, int b) { return a * b + COPY; }
extern "C" int fakeblasAdd(int a, int b) { return a + b + COPY; }
