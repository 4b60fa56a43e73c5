// How many ranks a run should have, and how many were seen: counted in the run directory, where each process with
// PyTorch leaves the variables of its launcher (agent/preload/run_directory.c). Only the ranks of this machine count.
#pragma once

#include <cstdint>
#include <string>

namespace castscope::cli {

struct Ranks {
  // LOCAL_WORLD_SIZE as the processes have it. Without it, those that told their rank, whether they could be observed
  // or not. 0 = no process told.
  std::uint32_t expected = 0;
  std::uint32_t seen = 0;  // with an agent, whether or not they have cast
  bool operator==(const Ranks&) const = default;
};

Ranks ranks_in(const std::string& run_directory);

// The variable NAME=VALUE for the job of a `castscope run` that is itself one rank of a launcher: it sees no other
// rank, and waits for none. "" = it is not.
std::string one_rank_variable();

// "rank3" where this castscope is one of several ranks of a launcher, each of which records a run of its own: they may
// all be given the same name. "" = it is not.
std::string rank_in_names();

}  // namespace castscope::cli
