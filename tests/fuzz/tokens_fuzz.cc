// A collector's file of tokens (server/admission/tokens.h).
#include <string>

#include "server/admission/door.h"
#include "server/admission/tokens.h"
#include "tests/fuzz/fuzzer.h"

namespace castscope::fuzz {

CASTSCOPE_FUZZER(tokens, 4000, 4096) {
  const auto tokens = admission::Tokens::parse(std::string(input), "tokens.json");
  if (!tokens.ok()) {
    CASTSCOPE_PROMISE(sentence_of(tokens.status()).starts_with("tokens.json:"), "a complaint names its place");
    return;
  }
  CASTSCOPE_PROMISE(!tokens->empty(), "a file of tokens has one, for without any everybody is let in");
  CASTSCOPE_PROMISE(tokens->find("") == nullptr, "nobody has the empty token");
  admission::Door door(*tokens, nullptr);
  for (const char* const none : {"", "Bearer", "Bearer "})
    CASTSCOPE_PROMISE(!door.admit(none, admission::Role::kSend, "peer", [] { return true; }).ok(),
                      "without a token nobody is let in");
}

}  // namespace castscope::fuzz
