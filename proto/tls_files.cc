#include "proto/tls_files.h"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace castscope::wire {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

constexpr off_t kLargestFile = 16 << 20;

absl::Status cannot_read(const std::string& file, const char* what, const std::string& why) {
  return absl::NotFoundError(absl::StrCat("cannot read the ", what, " ", file, ": ", why));
}

// Never waits: somebody may have put a pipe in the file's place.
absl::StatusOr<std::string> read_file(const std::string& file, const char* what) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return cannot_read(file, what, std::strerror(errno));
  const absl::Cleanup closing = [descriptor] { close(descriptor); };
  struct stat info {};
  if (fstat(descriptor, &info) != 0) return cannot_read(file, what, std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return cannot_read(file, what, "it is a folder");
  if (!S_ISREG(info.st_mode)) return cannot_read(file, what, "it is no ordinary file");
  if (info.st_size > kLargestFile) return cannot_read(file, what, "it has more than 16 MiB");
  std::string text(static_cast<std::size_t>(info.st_size) + 1, '\0');
  std::size_t size = 0;
  ssize_t n = 0;
  while (size < text.size() && (n = read(descriptor, text.data() + size, text.size() - size)) > 0)
    size += static_cast<std::size_t>(n);
  if (n < 0) return cannot_read(file, what, std::strerror(errno));
  text.resize(size);
  if (text.empty()) return cannot_read(file, what, "it is empty");
  if (absl::StrContains(text, '\0')) return cannot_read(file, what, "it holds zero bytes, and is no text");
  return text;
}

Bio bio_of(const std::string& text) { return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free}; }

// Nobody is asked for the password of a key: whoever starts a collector may not be there.
int no_password(char*, int, int, void*) { return -1; }

Certificate certificate_in(const std::string& text) {
  const Bio bio = bio_of(text);
  return {PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr), &X509_free};
}

// How many certificates the text has; 0 if one of them is damaged, such as by a copy that was not finished.
int whole_certificates_in(const std::string& text) {
  const Bio bio = bio_of(text);
  int count = 0;
  while (Certificate(PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr), &X509_free) != nullptr) ++count;
  const unsigned long end = ERR_peek_last_error();
  ERR_clear_error();
  return ERR_GET_LIB(end) == ERR_LIB_PEM && ERR_GET_REASON(end) == PEM_R_NO_START_LINE ? count : 0;
}

// OpenSSL refuses some that belong together: those of keys that are too short today. "" = it takes them.
std::string why_not_taken(X509* certificate, EVP_PKEY* key) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  ERR_clear_error();
  if (context == nullptr ||
      (SSL_CTX_use_certificate(context.get(), certificate) == 1 && SSL_CTX_use_PrivateKey(context.get(), key) == 1))
    return "";
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason != nullptr ? reason : "it says no reason";
}

Key key_in(const std::string& text) {
  const Bio bio = bio_of(text);
  return {PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr), &EVP_PKEY_free};
}

}  // namespace

absl::StatusOr<std::string> read_certificates(const std::string& file) {
  absl::StatusOr<std::string> text = read_file(file, "certificate");
  if (!text.ok()) return text;
  if (whole_certificates_in(*text) > 0) return text;
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
  if (fits) {
    const std::string why = why_not_taken(certificate.get(), key.get());
    if (why.empty()) return text;
    return absl::InvalidArgumentError(
        absl::StrCat(certificate_file, ": OpenSSL does not take this certificate with its key: ", why));
  }
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
