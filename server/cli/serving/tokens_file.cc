#include "server/cli/serving/tokens_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/admission/digest.h"
#include "server/log/log.h"

namespace castscope::cli {
namespace {

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size && a.st_mode == b.st_mode &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

bool TokensFile::has_changed() {
  struct stat now {};
  if (stat(file_.c_str(), &now) != 0) now = {};  // it is gone: that is told once, too
  return !is_same(std::exchange(read_, now), now);
}

absl::StatusOr<admission::Tokens> TokensFile::read() {
  admission::Tokens tokens;
  if (!file_.empty()) {
    (void)has_changed();  // before it is read: what is written meanwhile is seen at the next look
    absl::StatusOr<admission::Tokens> known = admission::Tokens::read(file_);
    if (!known.ok()) return known;
    tokens = *std::move(known);
  }
  if (!token_.empty())
    tokens.add({.name = "the-one-token", .digest = admission::digest_of(token_), .may = {admission::Role::kSend}});
  return tokens;
}

void TokensFile::look_again(admission::Door& door) {
  if (file_.empty() || !has_changed()) return;
  absl::StatusOr<admission::Tokens> tokens = read();
  if (!tokens.ok()) {
    log::error(absl::StrCat(tokens.status().message(), "; the tokens before it stay in use"));
    return;
  }
  door.change(*std::move(tokens));
  log::write(log::Level::kInfo, absl::StrCat("audit: the tokens were read again from ", file_), {{"audit", "tokens"}});
}

}  // namespace castscope::cli
