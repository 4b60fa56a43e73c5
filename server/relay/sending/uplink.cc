#include "server/relay/sending/uplink.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "proto/batch_checksum.h"
#include "proto/protocol.h"
#include "server/utf8/utf8.h"

namespace castscope::relay {
namespace {

constexpr std::chrono::milliseconds kShortestPause{50}, kLongestPause{2000};
// Nothing wakes a thread that waits for a channel when the relay stops.
constexpr std::chrono::milliseconds kLongestWithoutALook{50};
// A token that was refused may be put back. A collector answers wrong ones slowly, and has other things to do.
constexpr std::chrono::seconds kBetweenTriesOfOneToken{10};
// A long way takes what it takes: where a collector acknowledged nothing in time, it gets twice the time.
constexpr std::chrono::hours kLongestPatience{1};
// A collector answers what it is sent, at most once. Beyond that it tells rejections, 256 in an answer, and long
// answers count as several.
constexpr std::uint64_t kMostUnasked = 1000, kUsualAnswerBytes = 64u << 10;

}  // namespace

Uplink::Uplink(std::shared_ptr<grpc::Channel> channel, v1::Hello hello, Outbox* outbox, bool goes_on,
               std::function<std::string()> read_token, std::chrono::milliseconds patience)
    : channel_(std::move(channel)),
      hello_(std::move(hello)),
      outbox_(outbox),
      read_token_(std::move(read_token)),
      goes_on_(goes_on),
      usual_patience_(patience),
      patience_(patience) {}

Uplink::~Uplink() { stop(); }

void Uplink::start() {
  thread_ = std::thread([this] { run(); });
}

void Uplink::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (context_ != nullptr) context_->TryCancel();
    changed_.notify_all();
  }
  outbox_->interrupt();
  if (thread_.joinable()) thread_.join();
}

bool Uplink::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_ && !(for_its_token_ && read_token_);
}

bool Uplink::shut_out() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

bool Uplink::ever_connected() const {
  const std::lock_guard lock(mutex_);
  return ever_connected_;
}

bool Uplink::ever_stood() const {
  const std::lock_guard lock(mutex_);
  return ever_stood_;
}

bool Uplink::knows_numbers() const {
  const std::lock_guard lock(mutex_);
  return !goes_on_;
}

bool Uplink::was_ended_here() const {
  const std::lock_guard lock(mutex_);
  return ended_here_;
}

bool Uplink::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

std::string Uplink::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void Uplink::set_trouble(const std::string& sentence, bool refused) {
  const std::lock_guard lock(mutex_);
  if (!refused_) trouble_ = sentence;
  ever_connected_ = ever_connected_ || sentence.empty();
  refused_ = refused_ || refused;
  changed_.notify_all();
}

void Uplink::set_refused(const v1::Refusal& refusal) {
  {
    const std::lock_guard lock(mutex_);
    for_its_token_ = refusal.refusal_reason() == v1::REFUSAL_REASON_TOKEN;
  }
  set_trouble(utf8::sentence_of_others(refusal.sentence()), true);
}

// The connection ends, and the trouble stays until something is acknowledged, whatever a new connection begins with.
void Uplink::distrust(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (ended_here_ || context_ == nullptr || stopping_) return;
  ended_here_ = true;
  distrusted_ = why;
  if (!refused_) trouble_ = why;
  context_->TryCancel();
  changed_.notify_all();
}

void Uplink::got_on(Clock::time_point now) {
  const std::uint64_t acknowledged = outbox_->acknowledged();
  const std::lock_guard lock(mutex_);
  if (acknowledged == acknowledged_) return;
  acknowledged_ = acknowledged;
  got_on_at_ = now;
  patience_ = usual_patience_;
  if (ended_here_ || distrusted_.empty()) return;
  distrusted_.clear();
  if (!refused_) trouble_.clear();
}

void Uplink::look(Clock::time_point now) {
  got_on(now);
  const bool waits = outbox_->bytes() > 0;
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    if (stands_ && !waits) got_on_at_ = now;
    if (now - got_on_at_ < patience_) return;
    if (context_ == nullptr || ended_here_) return;
    patience_ = std::min<std::chrono::milliseconds>(2 * patience_, kLongestPatience);
    why = stands_ ? "the collector acknowledges nothing of what it is sent" : "the collector does not answer";
  }
  distrust(why);
}

// Returns true if the token was replaced.
bool Uplink::read_token_again() {
  const std::string now = read_token_ ? read_token_() : "";
  if (now.empty() || now == hello_.token()) return false;
  hello_.set_token(now);
  return true;
}

// After a refusal for the token: waits until there is another one, or the same may be right again. Returns false if
// there will be none.
bool Uplink::may_try_another_token() {
  {
    const std::lock_guard lock(mutex_);
    if (!for_its_token_ || !read_token_) return false;
  }
  const auto end = std::chrono::steady_clock::now() + kBetweenTriesOfOneToken;
  while (!stopping() && !read_token_again() && std::chrono::steady_clock::now() < end) nap(kLongestPause);
  const std::lock_guard lock(mutex_);
  refused_ = for_its_token_ = false;
  return !stopping_;
}

void Uplink::nap(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return stopping_; });
}

// gRPC takes a connection for established when some thread waits for the channel, and else at its next timer, seconds
// later.
void Uplink::nap_or_connect(std::chrono::milliseconds time) {
  grpc_connectivity_state state = channel_->GetState(true);
  // The collector is there, and wants to be left alone for a while; or it is in this process, in a test, and gRPC ends
  // a program that waits for such a channel.
  if (state == GRPC_CHANNEL_READY || state == GRPC_CHANNEL_SHUTDOWN) return nap(time);
  const auto end = std::chrono::system_clock::now() + time;
  while (!stopping() && state != GRPC_CHANNEL_READY && std::chrono::system_clock::now() < end) {
    channel_->WaitForStateChange(state, std::min(end, std::chrono::system_clock::now() + kLongestWithoutALook));
    state = channel_->GetState(true);
  }
}

void Uplink::run() {
  std::chrono::milliseconds pause = kShortestPause;
  for (bool first = true; !stopping();) {
    (void)read_token_again();
    bool stood = false;
    const std::uint64_t before = outbox_->acknowledged();
    const std::string why = connect_once(first, &stood);
    if (stopping() || (shut_out() && !may_try_another_token())) return;
    set_trouble(why);
    // A collector may take a connection and still be unable to keep what comes.
    pause = outbox_->acknowledged() > before ? kShortestPause : std::min(pause * 2, kLongestPause);
    if (was_ended_here()) pause = kLongestPause;
    first = first && !stood;
    nap_or_connect(pause);
  }
}

// The hello was answered. Whoever was distrusted has said as much before.
void Uplink::stand() {
  const std::lock_guard lock(mutex_);
  stands_ = ever_connected_ = ever_stood_ = true;
  got_on_at_ = Clock::now();
  if (!refused_ && distrusted_.empty()) trouble_.clear();
  changed_.notify_all();
}

bool Uplink::greet(Stream& stream, std::string* why) {
  v1::RelayMessage hello;
  *hello.mutable_hello() = hello_;
  hello.mutable_hello()->set_acknowledged(outbox_->acknowledged());
  hello.mutable_hello()->set_waiting_bytes(outbox_->bytes());
  hello.mutable_hello()->set_checksum(wire::checksum_of(hello.hello()));
  v1::CollectorMessage answer;
  // A collector that refuses before it reads has ended the stream by now, and what it said is to be read all the same:
  // gRPC keeps a stream's status back until then.
  (void)stream.Write(hello);
  if (!stream.Read(&answer)) {
    *why = "no connection to the collector";
    return false;
  }
  if (answer.has_welcome() && (knows_numbers() || learn_where_to_go_on(stream))) return true;
  if (answer.has_refusal()) {
    set_refused(answer.refusal());
  } else {
    *why = answer.has_welcome() ? "the connection to the collector was lost"
                                : "the collector sent an answer that no collector sends";
  }
  context_->TryCancel();  // the thread may still be waiting for us
  return false;
}

bool Uplink::learn_where_to_go_on(Stream& stream) {
  v1::RelayMessage question;
  question.mutable_ask();
  v1::CollectorMessage answer;
  if (!stream.Write(question) || !stream.Read(&answer) || !answer.has_ack()) return false;
  if (!wire::is_intact(answer.ack())) return false;
  outbox_->continue_after(answer.ack().sequence(), answer.ack().said_goodbye());
  const std::lock_guard lock(mutex_);
  goes_on_ = false;
  return true;
}

// Reads everything that the collector sends after its welcome, in a thread of its own: both sides send at once.
void Uplink::listen(Stream& stream) {
  answered_ = 0;
  for (v1::CollectorMessage message; stream.Read(&message) && take(message);) continue;
  context_->TryCancel();  // the other thread may be waiting for the collector to read
  outbox_->interrupt();
}

// Returns false where nothing more is to be read of this connection.
bool Uplink::take(const v1::CollectorMessage& answer) {
  answered_ += 1 + answer.ByteSizeLong() / kUsualAnswerBytes;
  if (answered_ > sent_ + kMostUnasked) return distrust("the collector sends answers without end"), false;
  if (answer.has_refusal()) set_refused(answer.refusal());
  if (!answer.has_ack()) return true;
  if (!wire::is_intact(answer.ack())) return false;  // what it acknowledges is told again
  if (!outbox_->acknowledge(answer.ack())) return distrust("the collector acknowledges what it was never sent"), false;
  got_on(Clock::now());
  return true;
}

std::string Uplink::connect_once(bool first, bool* stood) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return "";
    context_ = std::make_unique<grpc::ClientContext>();
    got_on_at_ = Clock::now();
    acknowledged_ = outbox_->acknowledged();
    stands_ = ended_here_ = false;
    sent_ = 0;
    if (!hello_.token().empty()) context_->AddMetadata("authorization", "Bearer " + hello_.token());
  }
  const std::unique_ptr<v1::Collector::Stub> stub = v1::Collector::NewStub(channel_);
  const std::unique_ptr<Stream> stream = stub->Stream(context_.get());
  std::string why;
  if (greet(*stream, &why)) {
    *stood = true;
    stand();
    outbox_->resume();
    if (!first) outbox_->want_introductions();
    std::thread listener([&] { listen(*stream); });
    while (const Outbox::Message message = stopping() ? nullptr : outbox_->next())
      if (++sent_, !stream->Write(*message)) break;
    context_->TryCancel();  // this stream is of no use any more, whatever ended the loop
    listener.join();
    why = "the connection to the collector was lost";
  }
  const grpc::Status status = stream->Finish();
  const bool answered = context_->GetServerTrailingMetadata().count(wire::kTryAgain) > 0;
  if (answered)
    why = "the collector cannot keep the run now: " + utf8::sentence_of_others(status.error_message());
  else if (!status.ok() && status.error_code() != grpc::StatusCode::CANCELLED)
    why += ": " + utf8::sentence_of_others(status.error_message());
  const std::lock_guard lock(mutex_);
  if (ended_here_) why = distrusted_;
  ever_connected_ = ever_connected_ || answered;
  context_.reset();
  return why;
}

}  // namespace castscope::relay
