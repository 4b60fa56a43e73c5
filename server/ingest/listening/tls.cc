#include "server/ingest/listening/tls.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpcpp/security/server_credentials.h>

#include <mutex>
#include <string>
#include <utility>

namespace castscope::ingest {
namespace {

// gRPC asks for the certificate at each connection, and goes on with the one before when it gets no new one. Its C++
// interface knows only certificates that stay, or that it watches itself; so this stands between its C interface and
// its server.
class CurrentCredentials final : public grpc::ServerCredentials {
 public:
  explicit CurrentCredentials(const Certificates& certificates) : certificates_(certificates) {
    const bool asks = !certificates.now()->client_authorities.empty();
    credentials_ =
        grpc_ssl_server_credentials_create_with_options(grpc_ssl_server_credentials_create_options_using_config_fetcher(
            asks ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                 : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
            &CurrentCredentials::fetch, this));
  }
  ~CurrentCredentials() override { grpc_server_credentials_release(credentials_); }
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  static grpc_ssl_certificate_config_reload_status fetch(void* self, grpc_ssl_server_certificate_config** config) {
    auto& current = *static_cast<CurrentCredentials*>(self);
    const std::lock_guard lock(current.mutex_);
    std::shared_ptr<const Certificates::Texts> now = current.certificates_.now();
    if (now == current.given_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair{now->key.c_str(), now->certificates.c_str()};
    // gRPC ends the process where there are no authorities. Where clients need no certificate, it asks none of these.
    const std::string& authorities = now->client_authorities.empty() ? now->certificates : now->client_authorities;
    *config = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
    current.given_ = std::move(now);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const Certificates& certificates_;
  grpc_server_credentials* credentials_ = nullptr;
  std::mutex mutex_;
  std::shared_ptr<const Certificates::Texts> given_;  // under mutex_
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> credentials(const Certificates* certificates) {
  if (certificates == nullptr) return grpc::InsecureServerCredentials();
  return std::make_shared<CurrentCredentials>(*certificates);
}

}  // namespace castscope::ingest
