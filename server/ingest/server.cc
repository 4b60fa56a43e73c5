#include "server/ingest/server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <optional>
#include <utility>

#include "proto/protocol.h"
#include "proto/quiet.h"
#include "server/ingest/collector_service.h"
#include "server/ingest/listening/acceptor.h"
#include "server/ingest/listening/address.h"
#include "server/ingest/listening/listening_sockets.h"
#include "server/ingest/listening/places.h"
#include "server/ingest/listening/tls.h"

namespace castscope::ingest {
namespace {

// What peers may hold of the collector. A relay has one stream; clients of one process share a connection.
constexpr int kMostStreamsOfConnection = 100;
constexpr int kPatienceForHandshakeMs = 10'000, kPatienceWithIdleMs = 60'000;
constexpr std::size_t kThreadsBesideStreams = 512;  // of streams whose hello is awaited, and gRPC's own
constexpr std::size_t kMostMemoryOfConnections = 512u << 20;

void set_bounds(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(wire::kLargestMessageBytes);
  // Each call has a thread. Without a bound, calls that are begun and taken back at once make as many as the system
  // has.
  builder.SetResourceQuota(grpc::ResourceQuota("collector")
                               .Resize(kMostMemoryOfConnections)
                               .SetMaxThreads(static_cast<int>(kThreadsBesideStreams + streams_at_most())));
  // A packed message may be a thousand times as long when it is unpacked, which comes before its length is looked at.
  for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP})
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreamsOfConnection);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kPatienceForHandshakeMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kPatienceWithIdleMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
}

}  // namespace

class Server::Impl {
 public:
  Impl(const Options& options, RunKeeper keeper) : service(options, std::move(keeper), places) {}
  void listen(ListeningSockets sockets, std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> taker) {
    address = sockets.address();
    acceptor = std::make_unique<Acceptor>(std::move(sockets), places, [taker](int listener, int fd) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
      connection.listener_fd = listener;
      connection.fd = fd;
      taker->HandleNewConnection(&connection);
    });
  }
  // Before the server, which asks them for the certificate at each connection.
  std::unique_ptr<Certificates> certificates;  // null without TLS
  std::shared_ptr<grpc::ServerCredentials> credentials;
  const std::shared_ptr<Places> places = std::make_shared<Places>(connections_at_most());
  CollectorService service;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Acceptor> acceptor;
  std::string address;
};

absl::StatusOr<std::unique_ptr<Server>> Server::start(const Options& options, RunKeeper keeper) {
  wire::quiet_libraries();
  if (absl::Status status = check_listener(options); !status.ok()) return status;
  auto impl = std::make_unique<Impl>(options, std::move(keeper));
  // Before the first server is made. It asks for no token, and tells nothing of any run. There is no reflection: its
  // streams hold a thread each for as long as their peers like, strangers or not.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.RegisterService(&impl->service);
  set_bounds(builder);
  std::optional<ListeningSockets> sockets;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> taker;
  if (!options.address.empty()) {
    if (!options.certificate_file.empty()) {
      absl::StatusOr<std::unique_ptr<Certificates>> certificates = Certificates::read(options);
      if (!certificates.ok()) return certificates.status();
      impl->certificates = *std::move(certificates);
    }
    impl->credentials = credentials(impl->certificates.get());
    absl::StatusOr<ListeningSockets> opened = ListeningSockets::open(options.address);
    if (!opened.ok()) return opened.status();
    sockets.emplace(*std::move(opened));
    using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    taker = builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD, impl->credentials);
  }
  impl->server = builder.BuildAndStart();
  if (impl->server == nullptr) return absl::UnavailableError("gRPC could not start the collector's server");
  if (impl->certificates != nullptr) impl->certificates->watch();
  if (sockets) impl->listen(*std::move(sockets), std::move(taker));
  if (auto* health = impl->server->GetHealthCheckService())
    health->SetServingStatus(v1::Collector::service_full_name(), true);
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

void Server::end_unwelcome() { impl_->service.end_unwelcome(); }

void Server::shutdown(std::chrono::milliseconds grace) {
  if (impl_->server == nullptr) return;
  if (auto* health = impl_->server->GetHealthCheckService()) health->SetServingStatus(false);  // and no more calls
  impl_->acceptor.reset();
  impl_->service.stop_waiting();
  impl_->server->Shutdown(std::chrono::system_clock::now() + grace);
  impl_->server->Wait();
  impl_->service.shutdown();
  impl_->server.reset();
}

}  // namespace castscope::ingest
