// The gRPC service of the collector: one call of Stream() a relay, from its hello to its end. What the messages mean is
// decided in run_table.h; this code reads and answers them.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "proto/castscope/v1/castscope.grpc.pb.h"
#include "server/admission/door.h"
#include "server/ingest/listening/call_deadlines.h"
#include "server/ingest/listening/options.h"
#include "server/ingest/listening/places.h"
#include "server/ingest/run/run_keeper.h"
#include "server/ingest/run/run_table.h"

namespace castscope::ingest {

class CollectorService final : public v1::Collector::Service {
 public:
  using Messages = grpc::ServerReaderWriter<v1::CollectorMessage, v1::RelayMessage>;
  // `places` learns over which connections relays have introduced themselves.
  CollectorService(const Options& options, RunKeeper keeper, std::shared_ptr<Places> places);

  grpc::Status Stream(grpc::ServerContext* call, Messages* stream) override;

  void close_abandoned(std::chrono::milliseconds patience) { runs_.close_abandoned(Run::Clock::now(), patience); }
  void take_up(RunOpening opening) { runs_.take_up(std::move(opening)); }
  void shutdown() { runs_.shutdown(); }
  void stop_waiting();
  // Ends the streams of those whose token is not taken any more.
  void end_unwelcome();

 private:
  // Why a stream ends: what the refusal says, and the status after it. Without a refusal (UNAVAILABLE) the relay keeps
  // what it has, and tries again.
  struct Refused {
    v1::RefusalReason reason = v1::REFUSAL_REASON_UNKNOWN;
    absl::Status status;
    bool ok() const { return status.ok(); }
  };
  grpc::Status refuse(grpc::ServerContext* call, Messages* stream, const Refused& refused);
  static Refused cannot_be_kept(const absl::Status& status);
  absl::StatusOr<admission::Guest> admit(grpc::ServerContext* call) const;
  grpc::Status hear(grpc::ServerContext* call, Messages* stream, const admission::Guest& guest);
  grpc::Status serve_with_memory(grpc::ServerContext* call, const v1::RelayMessage& message,
                                 const admission::Guest& guest, Messages* stream);
  grpc::Status serve(grpc::ServerContext* call, const v1::RelayMessage& message, const admission::Guest& guest,
                     Messages* stream);
  // `protocol` is what both sides speak.
  Refused greet(const v1::RelayMessage& message, std::uint32_t* protocol) const;
  bool welcome(Messages* stream, std::uint32_t protocol) const;
  static bool acknowledge(Messages* stream, Run::Reply* reply);
  static Refused take_one(grpc::ServerContext* call, const v1::RelayMessage& message, const Run::Stream& of_relay,
                          Run& run, Run::Reply* reply);
  grpc::Status take(grpc::ServerContext* call, Messages* stream, const Run::Stream& of_relay,
                    const admission::Guest& guest, Run& run, InTraffic& in_traffic);

  void pause(std::chrono::milliseconds time) const;

  const std::shared_ptr<admission::Door> door_;
  const std::string version_;
  const std::function<void(const std::string&)> refused_;
  const std::shared_ptr<Traffic> traffic_;
  // A stream, from the moment at which it was let in to its end.
  class Visit;
  std::mutex visiting_;
  std::map<grpc::ServerContext*, admission::Guest> visitors_;
  std::map<std::string, std::size_t> streams_of_;  // by sender
  const std::size_t most_streams_of_one_;
  mutable std::mutex pausing_;
  mutable std::condition_variable pauses_end_;
  bool stopped_ = false;
  const std::shared_ptr<Places> places_;
  CallDeadlines hellos_, refusals_;
  RunTable runs_;
};

}  // namespace castscope::ingest
