// The run-wide numbers of what deep steps see: like definitions.h, each content once.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/run_data.h"

namespace castscope::store {

class DeepDefinitions {
 public:
  static absl::StatusOr<DeepDefinitions> on(const Database&);
  void adopt(const RunData&);  // what an earlier life of the file defined

  // Everything that they refer to by its run-wide number; their own `id` is not looked at.
  absl::StatusOr<OperatorUseId> operator_use(const OperatorUse&);

 private:
  absl::flat_hash_map<std::string, OperatorUseId> uses_;  // by content
  Statement add_use_, add_operand_;
};

}  // namespace castscope::store
