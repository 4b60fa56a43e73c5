#include "server/ingest/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/protocol.h"
#include "proto/quiet.h"
#include "proto/tls_files.h"
#include "server/ingest/address.h"
#include "server/ingest/collector_service.h"

namespace castscope::ingest {
namespace {

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> credentials(const Options& options) {
  if (options.certificate_file.empty()) return grpc::InsecureServerCredentials();
  absl::StatusOr<std::string> certificate = wire::read_certificates(options.certificate_file);
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<std::string> key = wire::read_key(options.key_file, *certificate, options.certificate_file);
  if (!key.ok()) return key.status();
  grpc::SslServerCredentialsOptions tls;
  tls.pem_key_cert_pairs.push_back({*std::move(key), *std::move(certificate)});
  return grpc::SslServerCredentials(tls);
}

// gRPC does not say why it cannot listen.
std::string why_not(const std::string& address) {
  if (!is_unix(address)) return "it is in use, or is not an address of this machine";
  return "it is in use, or you may not write into its folder: give another path";
}

}  // namespace

class Server::Impl {
 public:
  Impl(const Options& options, RunKeeper keeper) : service(options, std::move(keeper)) {}
  CollectorService service;
  std::unique_ptr<grpc::Server> server;
  std::string address;
};

absl::StatusOr<std::unique_ptr<Server>> Server::start(const Options& options, RunKeeper keeper) {
  wire::quiet_libraries();
  if (absl::Status status = check_listener(options); !status.ok()) return status;
  auto impl = std::make_unique<Impl>(options, std::move(keeper));
  // Before the first server is made. Neither of the two asks for the token: they tell nothing of any run.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.RegisterService(&impl->service);
  builder.SetMaxReceiveMessageSize(wire::kLargestMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second collector on the same port is an error
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  int port = 0;
  if (!options.address.empty()) {
    absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> how = credentials(options);
    if (!how.ok()) return how.status();
    builder.AddListeningPort(options.address, *how, &port);
  }
  impl->server = builder.BuildAndStart();
  if (impl->server == nullptr || (!options.address.empty() && port == 0))
    return absl::UnavailableError(absl::StrCat("cannot listen on ", options.address, ": ", why_not(options.address)));
  if (auto* health = impl->server->GetHealthCheckService())
    health->SetServingStatus(v1::Collector::service_full_name(), true);
  // The "port" of a Unix socket is 1: its address stays as it was given.
  impl->address = options.address.rfind("unix", 0) == 0 || options.address.empty()
                      ? options.address
                      : absl::StrCat(options.address.substr(0, options.address.rfind(':')), ":", port);
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() { shutdown(std::chrono::milliseconds(0)); }

std::shared_ptr<grpc::Channel> Server::in_process_channel() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(wire::kLargestMessageBytes);
  return impl_->server->InProcessChannel(arguments);
}

const std::string& Server::address() const { return impl_->address; }

void Server::close_abandoned(std::chrono::milliseconds patience) { impl_->service.close_abandoned(patience); }

void Server::take_up(RunOpening opening) { impl_->service.take_up(std::move(opening)); }

void Server::shutdown(std::chrono::milliseconds grace) {
  if (impl_->server == nullptr) return;
  if (auto* health = impl_->server->GetHealthCheckService()) health->SetServingStatus(false);  // and no more calls
  impl_->server->Shutdown(std::chrono::system_clock::now() + grace);
  impl_->server->Wait();
  impl_->service.shutdown();
  impl_->server.reset();
}

}  // namespace castscope::ingest
