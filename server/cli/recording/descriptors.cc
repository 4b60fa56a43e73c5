#include "server/cli/recording/descriptors.h"

#include <sys/resource.h>

#include <filesystem>
#include <iterator>
#include <limits>
#include <system_error>

namespace castscope::cli {

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::size_t descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<std::size_t>::max();
  return limit.rlim_cur;
}

std::size_t descriptors_in_use() {
  std::error_code error;
  const std::filesystem::directory_iterator all("/proc/self/fd", error);
  return error ? 0 : static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace castscope::cli
