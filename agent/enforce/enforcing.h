// Whether a policy is enforced in this process, and the events that it is told of when it is. No torch header here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/interposed/interface.h"
#include "agent/wiring/features.h"

namespace castscope::agent {
class Definitions;
}

namespace castscope::enforce {

// Reads the policy that CASTSCOPE_ENFORCE names, once, when the agent starts. Returns false, and nothing is enforced,
// when there is no policy. Throws std::runtime_error when it cannot be enforced; where the job may go without, says so
// and returns false.
bool start(const castscope_preload*);
bool is_on();
// For the report: name and hash of the policy, and one sentence for each thing that cannot be carried out.
std::string policy_name();
std::string policy_hash();
std::vector<std::string> notices();

void rule_met_in_python(std::string_view rule);  // "function models:attend"
void recording_begins(agent::Definitions&);
void region_begins(bool modules_changed);  // an outermost region; `modules_changed`: their names, paths or classes
CacheContents cache_cleared();             // PyTorch's cache was cleared; returns what is left in ours
void step_begins();
void optimizer_stepped();  // in any thread
void fork_begins();
void fork_ends();     // in the parent
void child_begins();  // in a forked child: the parent's copies stay the parent's

}  // namespace castscope::enforce
