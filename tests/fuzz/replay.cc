#include "tests/fuzz/replay.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

// AddressSanitizer and UBSan call it before they end the program; it is there where the program has one of them.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace castscope::fuzz {
namespace {

// What a signal handler needs of the input that is being run.
std::string_view running;
std::array<char, 100> file_name;

void keep_input() {
  const int file = open(file_name.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  constexpr std::string_view kSaid = "the input is in ";
  const bool kept = file >= 0 && write(file, running.data(), running.size()) == static_cast<ssize_t>(running.size());
  if (!kept) return;
  (void)!write(STDERR_FILENO, kSaid.data(), kSaid.size());
  (void)!write(STDERR_FILENO, file_name.data(), std::strlen(file_name.data()));
  (void)!write(STDERR_FILENO, "\n", 1);
}

void keep_input_of_fault(int number) {
  keep_input();
  signal(number, SIG_DFL);
  raise(number);
}

void watch_for_faults(const char* fuzzer) {
  std::snprintf(file_name.data(), file_name.size(), "%s-found", fuzzer);
  for (const int number : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) signal(number, keep_input_of_fault);
  if (&__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(keep_input);
}

}  // namespace

void replay(const Fuzzer& fuzzer, const Corpus& corpus) {
  watch_for_faults(fuzzer.name);
  Mutation mutation(corpus, fuzzer.most_bytes);
  for (const std::string& input : corpus.inputs) {
    running = input;
    fuzzer.run(input);
  }
  for (int i = 0; i < fuzzer.mutations; ++i) {
    const std::string input = mutation.next();
    running = input;
    fuzzer.run(input);
  }
  running = {};
}

}  // namespace castscope::fuzz
