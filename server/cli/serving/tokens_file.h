// The tokens of a collector: those of its file and the one of its command line. The file is read again when it was
// changed, so that tokens are replaced without a restart. For use by one thread.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/admission/door.h"
#include "server/cli/serving/serve_config.h"

namespace castscope::cli {

class TokensFile {
 public:
  // `config` names the file, if any, and has the one token, if any.
  explicit TokensFile(const ServeConfig& config) : file_(config.tokens), token_(config.token) {}

  absl::StatusOr<admission::Tokens> read();
  // Gives the door the tokens of the file if it was changed since the last reading. What is wrong with it is logged
  // once, and the tokens before stay.
  void look_again(admission::Door& door);

 private:
  bool has_changed();

  const std::string file_, token_;
  struct stat read_ {};
};

}  // namespace castscope::cli
