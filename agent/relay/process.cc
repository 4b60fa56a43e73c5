#include "agent/relay/process.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace castscope::relay {

bool is_alive(std::int64_t pid, std::uint64_t start_ticks) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  // The second field is the command in parentheses and may hold anything: what is read here starts after the last one.
  const std::size_t command_end = text.rfind(')');
  if (command_end == std::string::npos) return false;
  std::istringstream rest(text.substr(command_end + 1));
  const std::vector<std::string> fields((std::istream_iterator<std::string>(rest)), {});  // from field 3 on
  constexpr std::size_t kState = 3 - 3, kThreads = 20 - 3, kStartTime = 22 - 3;
  if (fields.size() <= kStartTime) return false;
  if (start_ticks != 0 && std::strtoull(fields[kStartTime].c_str(), nullptr, 10) != start_ticks) return false;
  const char state = fields[kState][0];
  // A main thread that has ended while others run shows as a zombie with threads.
  const bool ended = state == 'Z' || state == 'X' || state == 'x';
  return !ended || std::strtol(fields[kThreads].c_str(), nullptr, 10) > 1;
}

}  // namespace castscope::relay
