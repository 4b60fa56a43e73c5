#include "server/ingest/listening/tls.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <string>

#include "proto/tls_files.h"

namespace castscope::ingest {
namespace {

constexpr unsigned kLookAtFilesSeconds = 10;

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> credentials(const Options& options) {
  if (options.certificate_file.empty()) return grpc::InsecureServerCredentials();
  absl::StatusOr<std::string> certificate = wire::read_certificates(options.certificate_file);
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<std::string> key = wire::read_key(options.key_file, *certificate, options.certificate_file);
  if (!key.ok()) return key.status();
  if (!options.client_authorities_file.empty()) {
    if (auto authorities = wire::read_certificates(options.client_authorities_file); !authorities.ok())
      return authorities.status();
  }
  namespace tls = grpc::experimental;
  tls::TlsServerCredentialsOptions asked(std::make_shared<tls::FileWatcherCertificateProvider>(
      options.key_file, options.certificate_file, options.client_authorities_file, kLookAtFilesSeconds));
  asked.watch_identity_key_cert_pairs();
  if (!options.client_authorities_file.empty()) {
    asked.watch_root_certs();
    asked.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(asked);
}

}  // namespace castscope::ingest
