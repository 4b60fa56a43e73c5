// What libFuzzer calls, in a program of one fuzzer.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzzer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" const char* __asan_default_options();

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const castscope::fuzz::Fuzzer& fuzzer = castscope::fuzz::fuzzers().front();
  if (size <= fuzzer.most_bytes) fuzzer.run({reinterpret_cast<const char*>(data), size});
  return 0;
}

// gRPC, protobuf and abseil come from the distribution, which compiled them without AddressSanitizer: containers that
// go from our code into theirs and back have no right bounds marked in them.
const char* __asan_default_options() { return "detect_container_overflow=0:allocator_may_return_null=1"; }
