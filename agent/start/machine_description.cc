#include "agent/start/machine_description.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "agent/torch/torch_seam.h"

namespace castscope::agent {
namespace {

// The text behind `key` of the first line that begins with it; "" = none.
std::string value_in(const char* path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t:=\"", key.size());
    if (begin == std::string::npos) return "";
    const std::size_t end = line.find_last_not_of(" \t\"");
    return line.substr(begin, end - begin + 1);
  }
  return "";
}

std::string operating_system() {
  utsname name{};
  if (uname(&name) != 0) return "";
  const std::string distribution = value_in("/etc/os-release", "PRETTY_NAME");
  return (distribution.empty() ? "" : distribution + ", ") + name.sysname + " " + name.release + " " + name.machine;
}

// Counts the processors on which the process may run. PyTorch chooses its number of threads by the same count.
int cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

void tell(Definitions& d, const char* name, const std::string& value) {
  if (!value.empty()) d.attribute(name, value);
}

void tell(Definitions& d, const char* name, long long number) {
  if (number > 0) d.attribute(name, std::to_string(number));
}

}  // namespace

void describe_machine(Definitions& d) {
  tell(d, "os", operating_system());
  tell(d, "cpu_model", value_in("/proc/cpuinfo", "model name"));
  tell(d, "core_count", cores());
  tell(d, "memory_bytes", static_cast<long long>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE));
  tell(d, "thread_count", torch_thread_count());
}

}  // namespace castscope::agent
