// The preload library, which the program carries ready-made: it is the same for every PyTorch and every glibc
// since 2.17.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace castscope::cli {

struct Preload {
  std::string library;  // a path that LD_PRELOAD can hold
  std::string trivial;  // the program that tells whether the library loads (server/cli/loading/trial.h)
};

// Finds both beside the program, or writes them into the cache. What is there with another content is written anew.
absl::StatusOr<Preload> obtain_preload();

}  // namespace castscope::cli
