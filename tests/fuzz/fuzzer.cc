#include "tests/fuzz/fuzzer.h"

#include <cstdio>
#include <cstdlib>

namespace castscope::fuzz {

std::vector<Fuzzer>& fuzzers() {
  static auto* const all = new std::vector<Fuzzer>;
  return *all;
}

void broken(const char* file, int line, std::string_view promise) {
  std::fprintf(stderr, "%s:%d: this does not hold: %.*s\n", file, line, static_cast<int>(promise.size()),
               promise.data());
  std::abort();
}

}  // namespace castscope::fuzz
