// Processes as /proc shows them. A pid alone may belong to another process by now: its start time tells.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace castscope::cli {

std::uint64_t start_ticks(pid_t pid);           // 0 = there is no such process (or it is a zombie)
bool is_alive(pid_t pid, std::uint64_t ticks);  // ticks 0 = whatever its start time
double process_age(pid_t pid);                  // seconds; below zero: there is no such process
std::vector<std::string> command_line(pid_t pid);
// Of this process; where it was deleted, as the kernel tells it; "" = not known.
std::string working_folder();
// The folder at or above this one that a checkout of Git is in, "" = none.
std::string checkout_of(const std::string& folder);
// A command as a person may see it: without line ends, and cut where it gets long.
std::string one_line(std::string text, std::size_t most_bytes);

}  // namespace castscope::cli
