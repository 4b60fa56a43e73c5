// The tokens of a collector: those of its file and the one of its command line. The file is read again while the
// collector runs, so that tokens are replaced without a restart. For use by one thread.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "server/admission/tokens.h"
#include "server/cli/serving/serve_config.h"

namespace castscope::cli {

class TokensFile {
 public:
  // `config` names the file, if any, and has the one token, if any.
  explicit TokensFile(const ServeConfig& config) : file_(config.tokens), token_(config.token) {}

  absl::StatusOr<admission::Tokens> read();
  // Gives the tokens of the file to `take` if it has another text than at the last look. What is wrong with it is
  // logged once, and the tokens before stay.
  void look_again(const std::function<void(const admission::Tokens&)>& take);

 private:
  absl::StatusOr<admission::Tokens> tokens_of(const absl::StatusOr<std::string>& text) const;

  const std::string file_, token_;
  std::string found_;  // at the last look: the text of the file, or why it could not be read
};

}  // namespace castscope::cli
