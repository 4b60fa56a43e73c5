#include "server/cli/recording/token_proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace castscope::cli {

std::string proof_of(const std::string& token, const relay::Destination& whereto) {
  if (token.empty()) return "";
  // Each part has its length in front, so that no two destinations are one text.
  std::string text = whereto.tls ? "tls" : "clear";
  for (const std::string* part :
       {&whereto.address, &whereto.root_certificate_file, &whereto.certificate_file, &whereto.key_file})
    absl::StrAppend(&text, " ", part->size(), " ", *part);
  unsigned char made[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), token.data(), static_cast<int>(token.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), made, &size) == nullptr)
    return "";
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(made), size));
}

bool is_proof(const std::string& proof, const std::string& token, const relay::Destination& whereto) {
  const std::string right = proof_of(token, whereto);
  return !right.empty() && proof.size() == right.size() && CRYPTO_memcmp(proof.data(), right.data(), right.size()) == 0;
}

}  // namespace castscope::cli
