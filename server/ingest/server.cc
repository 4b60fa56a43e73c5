#include "server/ingest/server.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/castscope/v1/castscope.grpc.pb.h"
#include "proto/protocol.h"
#include "proto/quiet.h"
#include "server/ingest/address.h"
#include "server/ingest/run_table.h"

namespace castscope::ingest {
namespace {

using Stream = grpc::ServerReaderWriter<v1::CollectorMessage, v1::RelayMessage>;

// Ends calls whose peer does not introduce itself: each call holds a thread.
class HelloDeadline {
 public:
  HelloDeadline(grpc::ServerContext* call, std::chrono::milliseconds patience)
      : thread_([this, call, patience] {
          std::unique_lock lock(mutex_);
          if (!changed_.wait_for(lock, patience, [this] { return said_; })) call->TryCancel();
        }) {}
  ~HelloDeadline() {
    {
      const std::lock_guard lock(mutex_);
      said_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool said_ = false;
  std::thread thread_;
};

class CollectorService final : public v1::Collector::Service {
 public:
  CollectorService(const Options& options, RunKeeper keeper)
      : token_(options.token), hello_deadline_(options.hello_deadline), runs_(std::move(keeper)) {}

  // Serves one relay from its hello to its goodbye, or to the loss of its connection.
  grpc::Status Stream(grpc::ServerContext* call, ingest::Stream* stream) override {
    v1::RelayMessage message;
    {
      const HelloDeadline deadline(call, hello_deadline_);
      if (!stream->Read(&message)) return grpc::Status::OK;
    }
    v1::Refusal refusal;
    if (!greet(message, &refusal)) return refuse(stream, refusal);
    const std::string relay = message.hello().relay();
    absl::StatusOr<RunOpening> opening = check_hello(message.hello());
    if (!opening.ok()) return refuse(stream, because(v1::REFUSAL_REASON_HELLO, opening.status()));
    const std::shared_ptr<Run> run = runs_.find_or_add(*std::move(opening));
    Run::Reply reply;
    const absl::Status attached = run->attach(relay, &reply);
    const grpc::Status status = !attached.ok() ? refuse(stream, because(v1::REFUSAL_REASON_STORE, attached))
                                : welcome(stream) && acknowledge(stream, &reply) ? take(stream, relay, *run)
                                                                                 : grpc::Status::OK;
    run->detach(relay, Run::Clock::now());
    return status;
  }

  void close_abandoned(std::chrono::milliseconds patience) { runs_.close_abandoned(Run::Clock::now(), patience); }
  void shutdown() { runs_.shutdown(); }

 private:
  static v1::Refusal because(v1::RefusalReason reason, const absl::Status& status) {
    v1::Refusal refusal;
    refusal.set_reason(reason);
    refusal.set_sentence(std::string(status.message()));
    return refusal;
  }
  static grpc::Status refuse(ingest::Stream* stream, const v1::Refusal& refusal) {
    v1::CollectorMessage message;
    *message.mutable_refusal() = refusal;
    stream->Write(message);
    return grpc::Status::OK;
  }
  bool greet(const v1::RelayMessage& message, v1::Refusal* refusal) const {
    const v1::Hello& hello = message.hello();
    // The protocol is checked first: in another protocol, no other field can be trusted to mean what it means here.
    if (!message.has_hello() || hello.protocol() != wire::kProtocol) {
      refusal->set_reason(v1::REFUSAL_REASON_PROTOCOL);
      refusal->set_sentence(absl::StrCat("the collector speaks castscope protocol ", wire::kProtocol,
                                         ", the relay (castscope ", hello.version(), ") protocol ", hello.protocol(),
                                         ": use the same castscope on both sides"));
      return false;
    }
    if (token_.empty() || same_token(hello.token(), token_)) return true;
    refusal->set_reason(v1::REFUSAL_REASON_TOKEN);
    refusal->set_sentence(hello.token().empty()
                              ? "the collector asks for a token and was given none: set CASTSCOPE_TOKEN"
                              : "the collector has another token than CASTSCOPE_TOKEN");
    return false;
  }
  static bool welcome(ingest::Stream* stream) {
    v1::CollectorMessage message;
    message.mutable_welcome()->set_protocol(wire::kProtocol);
    return stream->Write(message);
  }
  static bool acknowledge(ingest::Stream* stream, Run::Reply* reply) {
    if (!reply->send) return true;
    v1::CollectorMessage message;
    message.mutable_ack()->set_sequence(reply->durable);
    message.mutable_ack()->set_watched(reply->watched);
    for (v1::Rejection& rejection : reply->rejections) *message.mutable_ack()->add_rejections() = std::move(rejection);
    return stream->Write(message);
  }
  static grpc::Status take(ingest::Stream* stream, const std::string& relay, Run& run) {
    for (v1::RelayMessage message; stream->Read(&message);) {
      Run::Reply reply;
      absl::Status status;
      if (message.has_batch())
        status = run.apply(relay, message.batch(), &reply);
      else if (message.has_goodbye())
        status = run.goodbye(relay, message.goodbye(), &reply);
      else if (message.has_ask())
        run.ask(relay, &reply);
      if (!status.ok()) return refuse(stream, because(v1::REFUSAL_REASON_STORE, status));
      if (!acknowledge(stream, &reply)) break;
    }
    return grpc::Status::OK;
  }

  const std::string token_;
  const std::chrono::milliseconds hello_deadline_;
  RunTable runs_;
};

absl::StatusOr<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;  // not istreambuf_iterator: it would throw if a read fails
  content << file.rdbuf();
  if (!file || content.view().empty()) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  return content.str();
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> credentials(const Options& options) {
  if (options.certificate_file.empty()) return grpc::InsecureServerCredentials();
  absl::StatusOr<std::string> certificate = read_file(options.certificate_file);
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<std::string> key = read_file(options.key_file);
  if (!key.ok()) return key.status();
  grpc::SslServerCredentialsOptions tls;
  tls.pem_key_cert_pairs.push_back({*std::move(key), *std::move(certificate)});
  return grpc::SslServerCredentials(tls);
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
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", options.address, ": it is in use, or is not an address of this machine"));
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

void Server::shutdown(std::chrono::milliseconds grace) {
  if (impl_->server == nullptr) return;
  impl_->server->Shutdown(std::chrono::system_clock::now() + grace);
  impl_->server->Wait();
  impl_->service.shutdown();
  impl_->server.reset();
}

}  // namespace castscope::ingest
