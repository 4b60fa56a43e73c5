// Why an agent could not be built, or failed its self-test: kept so that not every run tries again for a minute.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {

class BuildLog {
 public:
  // `output` is the agent that was to be built; the log lies beside it.
  BuildLog(const std::string& output, const TorchInstall& torch);
  // Returns what to say of a build from the same compiler and the same headers that has failed; "" = none has.
  std::string failure() const;
  // Keeps what will be the same the next time, the compiler's own failure and a self-test that differed, and returns
  // what to say of it. Another failure, such as a full disk, is returned as it is.
  absl::Status keep(const absl::Status& status) const;

 private:
  std::string path_, built_from_;
};

}  // namespace castscope::cli
