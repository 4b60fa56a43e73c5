#include "server/relay/connect.h"

#include <grpcpp/grpcpp.h>

#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/protocol.h"

namespace castscope::relay {
namespace {

bool may_be_address(const std::string& address) {
  if (absl::StartsWith(address, "unix:") || absl::StartsWith(address, "unix-abstract:")) return true;
  const std::size_t colon = address.rfind(':');
  std::uint32_t port = 0;
  return colon != std::string::npos && colon > 0 && address.find_first_of(" /\t\n") == std::string::npos &&
         absl::SimpleAtoi(address.substr(colon + 1), &port) && port > 0 && port <= 65535;
}

}  // namespace

absl::Status check_address(const std::string& address) {
  if (may_be_address(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", address, "\" is not a collector's address: give HOST:PORT, such as 127.0.0.1:7390"));
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> connect(const std::string& address, const Tls& tls) {
  if (absl::Status status = check_address(address); !status.ok()) return status;
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (tls.use) {
    grpc::SslCredentialsOptions options;
    if (!tls.root_certificate_file.empty()) {
      std::ifstream file(tls.root_certificate_file, std::ios::binary);
      std::ostringstream content;  // not istreambuf_iterator: it would throw if a read fails
      content << file.rdbuf();
      options.pem_root_certs = content.str();
      if (!file || options.pem_root_certs.empty())
        return absl::NotFoundError(absl::StrCat("cannot read the certificate ", tls.root_certificate_file));
    }
    credentials = grpc::SslCredentials(options);
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(wire::kLargestMessageBytes);
  // A restarted collector is found again within two seconds, not within gRPC's two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  // A collector whose machine has disappeared without a word is noticed within half a minute.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace castscope::relay
