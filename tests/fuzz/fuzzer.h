// A fuzzer hands bytes of which nothing is known to one parser, and checks what the parser promises of any bytes. There
// is one file for each, NAME_fuzz.cc, with a corpus of small inputs in corpus/NAME and, where it helps, the words of
// the format in NAME.dict. scripts/fuzz runs them for long, with libFuzzer and sanitizers (libfuzzer.cc); the unit
// tests run them for a moment (replay_test.cc).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace castscope::fuzz {

struct Fuzzer {
  const char* name;
  void (*run)(std::string_view input);
  int mutations;           // how many inputs replay_test.cc makes of the corpus: those that are slow get fewer
  std::size_t most_bytes;  // longer inputs find nothing that shorter ones do not
};

// All fuzzers of this program.
std::vector<Fuzzer>& fuzzers();

struct Registration {
  explicit Registration(const Fuzzer& fuzzer) { fuzzers().push_back(fuzzer); }
};

inline std::string sentence_of(const absl::Status& status) { return std::string(status.message()); }

// Says that a promise was broken, and ends the program.
[[noreturn]] void broken(const char* file, int line, std::string_view promise);

}  // namespace castscope::fuzz

// Defines the fuzzer of this name; its body follows, and has the bytes in `input`.
#define CASTSCOPE_FUZZER(name, mutations, most_bytes)                                             \
  static void fuzz_##name(std::string_view input);                                                \
  const Registration registered_##name({#name, fuzz_##name, mutations, std::size_t{most_bytes}}); \
  static void fuzz_##name(std::string_view input)

// What the parser promises of any bytes, in a sentence for whoever finds bytes that break it.
#define CASTSCOPE_PROMISE(holds, promise) \
  if (!(holds)) ::castscope::fuzz::broken(__FILE__, __LINE__, promise)
