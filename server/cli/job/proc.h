// Processes as /proc shows them. Another process may have a pid by now: its start time tells the two apart.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace castscope::cli {

std::uint64_t start_ticks(pid_t pid);           // 0 = there is no such process, or it is a zombie
bool is_alive(pid_t pid, std::uint64_t ticks);  // ticks 0 = any start time
pid_t process_of(pid_t task);                   // to which a thread belongs, or itself; 0 = there is no such task
double process_age(pid_t pid);                  // seconds; below zero: there is no such process
std::vector<std::string> command_line(pid_t pid);
// Returns the job of a batch system or of CI that this process belongs to, as "SLURM_JOB_ID=123"; "" = none is known.
std::string batch_job();
// Returns this process's working folder, in the kernel's words if it was deleted; "" = not known.
std::string working_folder();
// Returns the folder at or above this one that is a Git checkout; "" = none.
std::string checkout_of(const std::string& folder);
// Formats a command for people: without line ends, and cut if it is long.
std::string one_line(std::string text, std::size_t most_bytes);

}  // namespace castscope::cli
