// Two threads write one number without asking each other: ThreadSanitizer must end this program with a failure.
#include <thread>

int main() {
  int number = 0;
  std::thread other([&] { number = 1; });
  number = 2;
  other.join();
  return 0;
}
