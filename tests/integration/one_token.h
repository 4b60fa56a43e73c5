// A collector's door that knows one token, "secret", which may send.
#pragma once

#include <memory>

#include "server/admission/digest.h"
#include "server/admission/door.h"

namespace castscope {

inline std::shared_ptr<admission::Door> one_token() {
  admission::Tokens tokens;
  tokens.add({.name = "senders", .digest = admission::digest_of("secret"), .may = {admission::Role::kSend}});
  return std::make_shared<admission::Door>(tokens, nullptr);
}

}  // namespace castscope
