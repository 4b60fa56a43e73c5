// Reads one element past the end: AddressSanitizer must end this program with a failure.
#include <vector>

int main(int argc, char**) {
  std::vector<int> numbers(static_cast<unsigned>(argc));
  const int* const past_the_end = numbers.data() + numbers.size();
  return *past_the_end == 7 ? 0 : 0;
}
