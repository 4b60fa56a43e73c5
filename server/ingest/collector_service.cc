#include "server/ingest/collector_service.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "proto/batch_checksum.h"
#include "proto/protocol.h"
#include "server/admission/digest.h"
#include "server/utf8/utf8.h"

namespace castscope::ingest {
namespace {

// A status travels in a header of HTTP/2, of which peers take 8 kB; what is not ASCII takes three times its bytes
// there.
constexpr std::size_t kLongestStatus = 2000;

// The longest sentence of a refusal, in bytes. It may quote what the relay sent.
constexpr std::size_t kLongestSentence = 16u << 10;

// In one message: each has a key of 4 kB at most, and a sentence. They stay well below what relays take.
constexpr std::size_t kMostRejections = 256;

// "protocol 7", "protocols 6 to 7"
std::string versions(std::uint32_t lowest, std::uint32_t highest) {
  return lowest == highest ? absl::StrCat("protocol ", lowest) : absl::StrCat("protocols ", lowest, " to ", highest);
}

grpc::Status leaves_none(const std::string& sender, const std::string& what) {
  return {grpc::StatusCode::UNAVAILABLE,
          absl::StrCat("the sender \"", sender, "\" has three quarters of the ", what,
                       " that the collector has room for, and leaves the others to others: this one waits until one of "
                       "those ends")};
}

}  // namespace

CollectorService::CollectorService(const Options& options, RunKeeper keeper, std::shared_ptr<Places> places)
    : door_(options.door),
      version_(options.version),
      refused_(options.refused),
      traffic_(options.traffic),
      most_streams_of_one_(part_of_one_sender(streams_at_most())),
      places_(std::move(places)),
      hellos_(options.hello_deadline),
      refusals_(options.hello_deadline),
      runs_(std::move(keeper)) {}

class CollectorService::Visit {
 public:
  Visit(CollectorService& service, grpc::ServerContext* call, const admission::Guest& guest)
      : service_(service), call_(call), sender_(guest.name) {
    const std::lock_guard lock(service_.visiting_);
    service_.visitors_.emplace(call_, guest);
    leaves_some_ = ++service_.streams_of_[sender_] <= service_.most_streams_of_one_ || sender_.empty();
  }
  ~Visit() {
    const std::lock_guard lock(service_.visiting_);
    service_.visitors_.erase(call_);
    if (--service_.streams_of_[sender_] == 0) service_.streams_of_.erase(sender_);
  }
  // Whether the sender leaves some of the collector's threads to others.
  bool leaves_some() const { return leaves_some_; }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  CollectorService& service_;
  grpc::ServerContext* const call_;
  const std::string sender_;
  bool leaves_some_ = true;
};

void CollectorService::end_unwelcome() {
  if (door_ == nullptr) return;
  const std::lock_guard lock(visiting_);
  for (const auto& [call, guest] : visitors_)
    if (!door_->still_admits(guest, admission::Role::kSend)) call->TryCancel();
}

grpc::Status CollectorService::Stream(grpc::ServerContext* call, Messages* stream) {
  // Before the stream takes one of the places of those whose hello is awaited: without a token nobody gets one.
  absl::StatusOr<admission::Guest> admitted = admit(call);
  if (!admitted.ok()) return refuse(call, stream, {v1::REFUSAL_REASON_TOKEN, admitted.status()});
  const admission::Guest guest = *std::move(admitted);
  const Visit visit(*this, call, guest);
  grpc::Status status = visit.leaves_some() ? hear(call, stream, guest) : leaves_none(guest.name, "streams");
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) call->AddTrailingMetadata(wire::kTryAgain, "1");
  return status;
}

grpc::Status CollectorService::hear(grpc::ServerContext* call, Messages* stream, const admission::Guest& guest) {
  v1::RelayMessage message;
  {
    const CallDeadlines::Waiting waiting(hellos_, call, guest.name);
    if (!waiting.may_wait())
      return {grpc::StatusCode::UNAVAILABLE, "too many peers have opened a stream and not said hello yet"};
    if (!stream->Read(&message)) return grpc::Status::OK;
  }
  return serve_with_memory(call, message, guest, stream);
}

absl::StatusOr<admission::Guest> CollectorService::admit(grpc::ServerContext* call) const {
  if (door_ == nullptr) return admission::Guest();
  const auto given = call->client_metadata().find(admission::Door::kKey);
  return door_->admit(
      given == call->client_metadata().end() ? "" : std::string(given->second.data(), given->second.size()),
      admission::Role::kSend, call->peer(), [call] { return call->IsCancelled(); });
}

void CollectorService::stop_waiting() {
  if (door_ != nullptr) door_->stop();
  const std::lock_guard lock(pausing_);
  stopped_ = true;
  pauses_end_.notify_all();
}

void CollectorService::pause(std::chrono::milliseconds time) const {
  std::unique_lock lock(pausing_);
  pauses_end_.wait_for(lock, time, [this] { return stopped_; });
}

// A run gives itself up where there is no memory for it. This is for what is outside of runs.
grpc::Status CollectorService::serve_with_memory(grpc::ServerContext* call, const v1::RelayMessage& message,
                                                 const admission::Guest& guest, Messages* stream) {
  try {
    return serve(call, message, guest, stream);
  } catch (const std::bad_alloc&) {
    return {grpc::StatusCode::UNAVAILABLE, "no memory"};  // short: it needs none of its own
  }
}

grpc::Status CollectorService::serve(grpc::ServerContext* call, const v1::RelayMessage& message,
                                     const admission::Guest& guest, Messages* stream) {
  std::uint32_t protocol = 0;
  if (const Refused refused = greet(message, &protocol); !refused.ok()) return refuse(call, stream, refused);
  const v1::Hello& hello = message.hello();
  if (!wire::is_intact(hello))
    return refuse(call, stream,
                  cannot_be_kept(absl::UnavailableError("the hello arrived damaged: it is to be sent again")));
  absl::StatusOr<RunOpening> opening = check_hello(hello);
  if (!opening.ok()) return refuse(call, stream, {v1::REFUSAL_REASON_HELLO, opening.status()});
  // Before anything is waited for, such as a disk.
  if (!places_->introduced(call->peer(), guest.name)) return leaves_none(guest.name, "connections");
  opening->sender = guest.name;
  // A run without a key belongs to whoever has a token of that name. No key has such an owner: a digest has no space.
  if (opening->owner.empty() && !guest.name.empty())
    opening->owner = absl::StrCat("sender ", admission::digest_of(guest.name));
  opening->token = guest.digest;
  std::optional<std::uint64_t> acknowledged;
  if (protocol >= wire::kTellsAcknowledged) acknowledged = hello.acknowledged();
  const std::shared_ptr<Run> run = runs_.find_or_add(*opening);
  Run::Stream of_relay{.relay = hello.relay()};
  Run::Reply reply;
  const absl::Status attached = run->attach(*opening, &of_relay, acknowledged, &reply);
  if (absl::IsUnauthenticated(attached))
    return refuse(call, stream, {v1::REFUSAL_REASON_OWNER, absl::PermissionDeniedError(attached.message())});
  if (absl::IsFailedPrecondition(attached)) return refuse(call, stream, {v1::REFUSAL_REASON_ORDER, attached});
  const absl::Cleanup detach = [&] { run->detach(of_relay, Run::Clock::now()); };
  Refused refused = cannot_be_kept(attached);
  if (!reply.out_of_order.empty())
    refused = {v1::REFUSAL_REASON_ORDER, absl::FailedPreconditionError(reply.out_of_order)};
  if (!refused.ok()) return refuse(call, stream, refused);
  if (!welcome(stream, protocol) || !acknowledge(stream, &reply)) return grpc::Status::OK;
  InTraffic in_traffic(traffic_, guest.name, hello.waiting_bytes());
  return take(call, stream, of_relay, guest, *run, in_traffic);
}

grpc::Status CollectorService::refuse(grpc::ServerContext* call, Messages* stream, const Refused& refused) {
  const std::string sentence = utf8::shortened(utf8::repaired(std::string(refused.status.message())), kLongestSentence);
  if (!absl::IsUnavailable(refused.status)) {
    v1::CollectorMessage message;
    message.mutable_refusal()->set_refusal_reason(refused.reason);
    message.mutable_refusal()->set_sentence(sentence);
    // A peer that does not read would hold the thread. The sentence is in the status, too.
    if (const CallDeadlines::Waiting waiting(refusals_, call); waiting.may_wait()) stream->Write(message);
    // The door logs wrong tokens itself, and limits how many lines one machine causes.
    if (refused_) refused_(refused.reason == v1::REFUSAL_REASON_TOKEN ? "" : sentence);
  }
  // absl's codes are gRPC's.
  return {static_cast<grpc::StatusCode>(refused.status.code()),
          sentence.substr(0, utf8::cut(sentence, kLongestStatus))};
}

CollectorService::Refused CollectorService::cannot_be_kept(const absl::Status& status) {
  if (status.ok()) return {};
  // Somebody makes room, gives back the rights, or ends the other collector.
  const bool passes = absl::IsResourceExhausted(status) || absl::IsUnavailable(status) ||
                      absl::IsPermissionDenied(status) || absl::IsAborted(status);
  return {v1::REFUSAL_REASON_STORE,
          passes ? absl::UnavailableError(status.message()) : absl::InternalError(status.message())};
}

CollectorService::Refused CollectorService::greet(const v1::RelayMessage& message, std::uint32_t* protocol) const {
  if (!message.has_hello())
    return {v1::REFUSAL_REASON_HELLO,
            absl::InvalidArgumentError("the first message of a stream must be a hello, and this one is not")};
  const v1::Hello& hello = message.hello();
  if (absl::Status status = check_size(hello); !status.ok()) return {v1::REFUSAL_REASON_HELLO, status};
  // The protocol is checked first: in another protocol, no other field can be trusted to mean what it means here.
  const std::uint32_t lowest = hello.lowest_protocol(), highest = std::max(lowest, hello.highest_protocol());
  *protocol = std::min(highest, wire::kProtocol);
  if (*protocol < std::max(lowest, wire::kOldestProtocol))
    return {
        v1::REFUSAL_REASON_PROTOCOL,
        absl::FailedPreconditionError(absl::StrCat(
            "the collector speaks castscope ", versions(wire::kOldestProtocol, wire::kProtocol),
            ", the relay (castscope ", utf8::quoted(hello.castscope_version(), 100), ") ", versions(lowest, highest),
            ": use the same castscope on both sides, or a client of a protocol that this collector speaks"))};
  if (hello.highest_protocol() != 0 && hello.highest_protocol() < lowest)
    return {v1::REFUSAL_REASON_HELLO,
            absl::InvalidArgumentError(absl::StrCat("the hello says ", hello.highest_protocol(),
                                                    " for the highest protocol, and ", lowest, " for the lowest"))};
  return {};
}

bool CollectorService::welcome(Messages* stream, std::uint32_t protocol) const {
  v1::CollectorMessage message;
  message.mutable_welcome()->set_protocol(protocol);
  message.mutable_welcome()->set_castscope_version(version_);
  return stream->Write(message);
}

// In as many messages as its rejections need: a relay that comes again is told all of its own at once.
bool CollectorService::acknowledge(Messages* stream, Run::Reply* reply) {
  if (!reply->send) return true;
  std::size_t told = 0;
  do {
    v1::CollectorMessage message;
    v1::Ack& ack = *message.mutable_ack();
    ack.set_sequence(reply->durable);
    ack.set_watched(reply->watched);
    ack.set_said_goodbye(reply->said_goodbye);
    ack.set_hold_events(reply->hold_events);
    for (const std::size_t end = std::min(told + kMostRejections, reply->rejections.size()); told < end; ++told)
      *ack.add_rejections() = std::move(reply->rejections[told]);
    ack.set_checksum(wire::checksum_of(ack));
    if (!stream->Write(message)) return false;
  } while (told < reply->rejections.size());
  return true;
}

CollectorService::Refused CollectorService::take_one(grpc::ServerContext* call, const v1::RelayMessage& message,
                                                     const Run::Stream& of_relay, Run& run, Run::Reply* reply) {
  const auto may_not_come = [](const std::string& why) {
    return Refused{v1::REFUSAL_REASON_ORDER, absl::FailedPreconditionError(why)};
  };
  const auto not_taken = [&](const absl::Status& why) {
    run.refused(of_relay.relay, std::string(why.message()));
    return Refused{v1::REFUSAL_REASON_ORDER, why};
  };
  absl::Status status;
  switch (message.message_case()) {
    case v1::RelayMessage::kBatch:
      if (!wire::is_intact(message.batch()))
        return cannot_be_kept(absl::UnavailableError("a batch arrived damaged: it is to be sent again"));
      status = run.apply(of_relay, message.batch(), reply, [call] { return call->IsCancelled(); });
      break;
    case v1::RelayMessage::kGoodbye:
      if (!wire::is_intact(message.goodbye()))
        return cannot_be_kept(absl::UnavailableError("the goodbye arrived damaged: it is to be sent again"));
      status = run.goodbye(of_relay, message.goodbye(), reply);
      break;
    case v1::RelayMessage::kAsk:
      status = run.ask(of_relay, reply);
      break;
    case v1::RelayMessage::kHello:
      return not_taken(
          absl::FailedPreconditionError("a second hello came in one stream: a relay that begins anew opens a new "
                                        "stream"));
    case v1::RelayMessage::MESSAGE_NOT_SET:
      return not_taken(absl::InvalidArgumentError("a message came that this protocol version does not have"));
  }
  return reply->out_of_order.empty() ? cannot_be_kept(status) : may_not_come(reply->out_of_order);
}

grpc::Status CollectorService::take(grpc::ServerContext* call, Messages* stream, const Run::Stream& of_relay,
                                    const admission::Guest& guest, Run& run, InTraffic& in_traffic) {
  for (v1::RelayMessage message; stream->Read(&message);) {
    if (door_ != nullptr && !door_->still_admits(guest, admission::Role::kSend))
      return refuse(call, stream,
                    {v1::REFUSAL_REASON_TOKEN,
                     absl::UnauthenticatedError(absl::StrCat("the token of this stream (", guest.name,
                                                             ") is not taken any more: send the new one"))});
    in_traffic.came(message.ByteSizeLong());
    Run::Reply reply;
    if (const Refused refused = take_one(call, message, of_relay, run, &reply); !refused.ok())
      return refuse(call, stream, refused);
    if (!acknowledge(stream, &reply)) break;
    if (reply.pause.count() > 0) pause(reply.pause);
  }
  return grpc::Status::OK;
}

}  // namespace castscope::ingest
