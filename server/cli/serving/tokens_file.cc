#include "server/cli/serving/tokens_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/admission/digest.h"
#include "server/log/log.h"

namespace castscope::cli {
namespace {

std::string found_in(const absl::StatusOr<std::string>& text) {
  return text.ok() ? *text : std::string(text.status().message());
}

}  // namespace

absl::StatusOr<admission::Tokens> TokensFile::tokens_of(const absl::StatusOr<std::string>& text) const {
  if (!text.ok()) return text.status();
  absl::StatusOr<admission::Tokens> tokens =
      file_.empty() ? admission::Tokens() : admission::Tokens::parse(*text, file_);
  if (tokens.ok() && !token_.empty())
    tokens->add({.name = "the-one-token", .digest = admission::digest_of(token_), .may = {admission::Role::kSend}});
  return tokens;
}

absl::StatusOr<admission::Tokens> TokensFile::read() {
  if (file_.empty()) return tokens_of("");
  const absl::StatusOr<std::string> text = admission::Tokens::read(file_);
  found_ = found_in(text);
  return tokens_of(text);
}

// By its text, and not by its time, size and number: within one tick of the kernel's clock a file can be written twice,
// or another one of the same size may get its number. And what was in the way may pass and leave the file as it is,
// such as a want of descriptors.
void TokensFile::look_again(const std::function<void(const admission::Tokens&)>& take) {
  if (file_.empty()) return;
  const absl::StatusOr<std::string> text = admission::Tokens::read(file_);
  std::string found = found_in(text);
  if (found == found_) return;
  const absl::StatusOr<admission::Tokens> tokens = tokens_of(text);
  if (tokens.ok()) {
    take(*tokens);
    log::write(log::Level::kInfo, absl::StrCat("audit: the tokens were read again from ", file_),
               {{"audit", "tokens"}});
  } else {
    log::error(absl::StrCat(tokens.status().message(), "; the tokens before it stay in use"));
  }
  found_ = std::move(found);  // last: what there was no memory for is done at the next look
}

}  // namespace castscope::cli
