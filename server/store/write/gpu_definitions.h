// The run-wide numbers of what GPUs did: like definitions.h, each content once.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/run_data.h"

namespace castscope::store {

class GpuDefinitions {
 public:
  static absl::StatusOr<GpuDefinitions> on(const Database&);
  void adopt(const RunData&);  // what an earlier life of the file defined

  // A mangled name may be thousands of characters long, and hundreds of kernels share it.
  absl::StatusOr<KernelNameId> kernel_name(const std::string&);
  // Everything that they refer to by its run-wide number; their own `id` is not looked at.
  absl::StatusOr<KernelId> kernel(const Kernel&);

 private:
  absl::flat_hash_map<std::string, KernelNameId> names_;
  absl::flat_hash_map<std::string, KernelId> kernels_;  // by content
  Statement add_name_, add_kernel_;
};

}  // namespace castscope::store
