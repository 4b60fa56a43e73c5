// Reads one element past the end: AddressSanitizer must end this program with a failure.
#include <vector>

int main(int argc, char**) {
  std::vector<int> numbers(static_cast<unsigned>(argc));
  const volatile int* const past_the_end = numbers.data() + numbers.size();
  const int read = *past_the_end;
  return read - read;
}
