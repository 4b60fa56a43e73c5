// gRPC and protobuf write to standard error on their own. That is the job's stderr here, so they are kept quiet: errors
// that matter come back as a status and are said in a sentence.
#pragma once

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

namespace castscope::wire {

inline void quiet_libraries() {
  gpr_set_log_function([](gpr_log_func_args*) {});
  google::protobuf::SetLogHandler(nullptr);
}

}  // namespace castscope::wire
