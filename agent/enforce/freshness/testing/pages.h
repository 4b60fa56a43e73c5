// The tests of watched pages share these: the sizes of pages, and a function that runs code in a forked child.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <functional>

namespace castscope::enforce {

inline const std::size_t kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
inline constexpr std::size_t kHuge = 2 << 20;

// Returns what `run` returns in a forked child; 99 when it hangs or dies there.
inline int in_child(const std::function<int()>& run) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(100);
    _exit(run());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

}  // namespace castscope::enforce
