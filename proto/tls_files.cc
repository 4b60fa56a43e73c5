#include "proto/tls_files.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace castscope::wire {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

absl::StatusOr<std::string> read_file(const std::string& file, const char* what) {
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream content;  // not istreambuf_iterator: it would throw if a read fails
  content << stream.rdbuf();
  if (stream && !content.view().empty()) return content.str();
  const char* const why = errno != 0 ? std::strerror(errno) : "it is empty";
  return absl::NotFoundError(absl::StrCat("cannot read the ", what, " ", file, ": ", why));
}

Bio bio_of(const std::string& text) { return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free}; }

// Nobody is asked for the password of a key: whoever starts a collector may not be there.
int no_password(char*, int, int, void*) { return -1; }

Certificate certificate_in(const std::string& text) {
  const Bio bio = bio_of(text);
  return {PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr), &X509_free};
}

Key key_in(const std::string& text) {
  const Bio bio = bio_of(text);
  return {PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr), &EVP_PKEY_free};
}

}  // namespace

absl::StatusOr<std::string> read_certificates(const std::string& file) {
  absl::StatusOr<std::string> text = read_file(file, "certificate");
  if (!text.ok()) return text;
  const bool is_one = certificate_in(*text) != nullptr;
  ERR_clear_error();
  if (is_one) return text;
  return absl::InvalidArgumentError(absl::StrCat(
      file, absl::StrContains(*text, "-----BEGIN CERTIFICATE-----")
                ? " has a PEM certificate that is damaged: copy the file again"
                : " has no PEM certificate (a text with the line -----BEGIN CERTIFICATE-----): give another file, or "
                  "make one from a binary certificate with `openssl x509 -inform der -in CERTIFICATE -out cert.pem`"));
}

absl::StatusOr<std::string> read_key(const std::string& file, const std::string& certificates,
                                     const std::string& certificate_file) {
  absl::StatusOr<std::string> text = read_file(file, "key");
  if (!text.ok()) return text;
  const Key key = key_in(*text);
  const Certificate certificate = certificate_in(certificates);
  const bool fits =
      key != nullptr && certificate != nullptr && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (fits) return text;
  if (key != nullptr)
    return absl::InvalidArgumentError(absl::StrCat(file, " is not the key of the certificate in ", certificate_file,
                                                   ": give the two that were made "
                                                   "together"));
  return absl::InvalidArgumentError(absl::StrCat(
      file,
      absl::StrContains(*text, "ENCRYPTED")
          ? " has a key with a password, which nobody can be asked for: `openssl pkey -in KEY -out key.pem` writes "
            "one without"
          : " has no PEM key (a text with a line like -----BEGIN PRIVATE KEY-----): give another file, or make one "
            "from a binary key with `openssl pkey -inform der -in KEY -out key.pem`"));
}

}  // namespace castscope::wire
