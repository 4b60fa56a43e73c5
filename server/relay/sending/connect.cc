#include "server/relay/sending/connect.h"

#include <grpcpp/grpcpp.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/castscope/v1/castscope.grpc.pb.h"
#include "proto/loopback.h"
#include "proto/protocol.h"
#include "proto/quiet.h"
#include "proto/tls_files.h"
#include "proto/unix_address.h"
#include "server/utf8/utf8.h"

namespace castscope::relay {
namespace {

constexpr std::size_t kMostMemoryOfAnswers = 32u << 20;

bool may_be_address(const std::string& address) {
  if (wire::is_unix(address)) return address.find_first_not_of("/ ", address.find(':') + 1) != std::string::npos;
  const std::size_t colon = address.rfind(':');
  std::uint32_t port = 0;
  return colon != std::string::npos && colon > 0 && address.find_first_of(" /\t\n") == std::string::npos &&
         absl::SimpleAtoi(address.substr(colon + 1), &port) && port > 0 && port <= 65535;
}

absl::Status add_own_certificate(const Tls& tls, grpc::SslCredentialsOptions& to) {
  if (tls.certificate_file.empty() != tls.key_file.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("a certificate for the collector needs its key, and a key its "
                     "certificate; the ",
                     tls.key_file.empty() ? "key" : "certificate", " is missing"));
  if (tls.certificate_file.empty()) return absl::OkStatus();
  absl::StatusOr<std::string> certificate = wire::read_certificates(tls.certificate_file);
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<std::string> key = wire::read_key(tls.key_file, *certificate, tls.certificate_file);
  if (!key.ok()) return key.status();
  to.pem_cert_chain = *std::move(certificate);
  to.pem_private_key = *std::move(key);
  return absl::OkStatus();
}

// What a collector's answers may take of our memory, whatever it sends. gRPC gathers a message before it compares its
// length with the largest one. The quota ends the stream before that: it counts what is read from the connection.
void bound_answers(grpc::ChannelArguments& arguments) {
  arguments.SetMaxReceiveMessageSize(wire::kLargestAnswerBytes);
  arguments.SetResourceQuota(grpc::ResourceQuota("answers").Resize(kMostMemoryOfAnswers));
  // No collector packs its answers, and a packed one may be a thousand times as long when it is unpacked.
  arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

}  // namespace

absl::Status check_address(const std::string& address) {
  if (may_be_address(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", address, "\" is not a collector's address: give ",
                   wire::is_unix(address) ? "the path of its socket, such as unix:/run/user/1000/castscope.sock"
                                          : "HOST:PORT, such as 127.0.0.1:7390"));
}

bool needs_tls(const std::string& address) { return !wire::is_loopback(address); }

absl::Status check_own_certificate(const Tls& tls) {
  grpc::SslCredentialsOptions ignored;
  return add_own_certificate(tls, ignored);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> connect(const std::string& address, const Tls& tls) {
  if (absl::Status status = check_address(address); !status.ok()) return status;
  if (!tls.use && needs_tls(address))
    return absl::InvalidArgumentError(
        absl::StrCat("the collector at ", address, " is on another machine, and nothing is sent there without TLS"));
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (tls.use) {
    grpc::SslCredentialsOptions options;
    if (!tls.root_certificate_file.empty()) {
      absl::StatusOr<std::string> certificates = wire::read_certificates(tls.root_certificate_file);
      if (!certificates.ok()) return certificates.status();
      options.pem_root_certs = *std::move(certificates);
    }
    if (absl::Status status = add_own_certificate(tls, options); !status.ok()) return status;
    credentials = grpc::SslCredentials(options);
  }
  grpc::ChannelArguments arguments;
  bound_answers(arguments);
  // A restarted collector is found again within two seconds, not within gRPC's two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // In spite of its name this is how long an attempt may take: TCP, TLS and the first frames of HTTP/2 wait three times
  // for an answer, and the other end may be far away or busy.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  // A collector whose machine has disappeared without a word is noticed within half a minute.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

absl::Status knock(const std::string& address, const Tls& tls, const std::string& token,
                   std::chrono::milliseconds patience) {
  wire::quiet_libraries();
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = connect(address, tls);
  if (!channel.ok()) return channel.status();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
  const auto stream = v1::Collector::NewStub(*channel)->Stream(&context);
  stream->WritesDone();
  for (v1::CollectorMessage answer; stream->Read(&answer);) continue;  // a refusal says what the status says, too
  const grpc::Status status = stream->Finish();
  return {static_cast<absl::StatusCode>(status.error_code()),  // absl's codes are gRPC's
          utf8::sentence_of_others(status.error_message())};
}

}  // namespace castscope::relay
