#include <cstdio>
int main() { std::puts("castscope"); }
