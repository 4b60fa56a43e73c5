// Adds up beyond the largest int: UndefinedBehaviorSanitizer must end this program with a failure.
#include <limits>

int main(int argc, char**) {
  volatile int sum = std::numeric_limits<int>::max();
  sum = sum + argc;
  return 0;
}
