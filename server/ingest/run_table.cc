#include "server/ingest/run_table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace castscope::ingest {
namespace {

// A relay that never requests a flush still gets its batches committed. At most so much is lost with the collector, and
// is then sent again.
constexpr std::uint64_t kMostUncommittedBytes = 4u << 20;
constexpr std::size_t kLongestName = 128;
constexpr std::size_t kMostHelloBytes = 1u << 20;

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-'; });
}

}  // namespace

absl::StatusOr<RunOpening> check_hello(const v1::Hello& hello) {
  if (hello.ByteSizeLong() > kMostHelloBytes) return absl::InvalidArgumentError("the hello has more than a megabyte");
  if (!is_plain_name(hello.run()))
    return absl::InvalidArgumentError("the run's id is not made of up to 128 letters, digits, dots, dashes and _");
  if (!is_plain_name(hello.relay()))
    return absl::InvalidArgumentError("the relay's id is not made of up to 128 letters, digits, dots, dashes and _");
  return RunOpening{.id = hello.run(),
                    .name = hello.name(),
                    .command = {hello.command().begin(), hello.command().end()},
                    .cwd = hello.cwd(),
                    .host = hello.host(),
                    .begin_realtime_ns = hello.begin_realtime_ns(),
                    .castscope_version = hello.version(),
                    .checkout = hello.checkout()};
}

absl::Status Run::ensure_open() {
  if (!failed_.ok()) return failed_;
  if (sink_ != nullptr) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<store::RunSink>> sink = keeper_->open(opening_);
  if (!sink.ok()) return failed_ = sink.status();
  sink_ = *std::move(sink);
  return absl::OkStatus();
}

absl::Status Run::commit() {
  if (absl::Status status = sink_->commit(); !status.ok()) return failed_ = status;
  uncommitted_ = 0;
  for (auto& [id, relay] : relays_) relay.durable = relay.applied;
  return absl::OkStatus();
}

void Run::answer(Relay& relay, Reply* reply) const {
  reply->send = true;
  reply->watched = keeper_->watched && keeper_->watched(opening_.id);
  reply->durable = relay.durable;
  reply->rejections.assign(relay.rejections.begin() + static_cast<std::ptrdiff_t>(relay.rejections_told),
                           relay.rejections.end());
  relay.rejections_told = relay.rejections.size();
}

absl::Status Run::attach(const std::string& id, Reply* reply) {
  std::lock_guard lock(mutex_);
  Relay& relay = relays_[id];
  ++relay.streams;
  relay.rejections_told = 0;  // rejections sent in a broken stream may not have arrived
  if (!relay.done) {
    if (absl::Status status = ensure_open(); !status.ok()) return status;
  }
  if (relay.durable > 0 || !relay.rejections.empty()) answer(relay, reply);
  return absl::OkStatus();
}

void Run::detach(const std::string& id, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  Relay& relay = relays_[id];
  --relay.streams;
  relay.left = now;
}

void Run::close_abandoned(Clock::time_point now, Clock::duration patience) {
  std::lock_guard lock(mutex_);
  const auto is_over = [&](const auto& entry) {
    const Relay& relay = entry.second;
    return relay.done || (relay.streams == 0 && now - relay.left >= patience);
  };
  if (sink_ == nullptr || !std::all_of(relays_.begin(), relays_.end(), is_over)) return;
  if (failed_.ok() && uncommitted_ > 0) (void)commit();  // nobody can receive the error
  close(false);
}

absl::Status Run::apply(const std::string& id, const v1::Batch& batch, Reply* reply) {
  std::lock_guard lock(mutex_);
  Relay& relay = relays_[id];
  const bool known = batch.sequence() != 0 && batch.sequence() <= relay.applied;
  if (!known) {
    if (absl::Status status = ensure_open(); !status.ok()) return status;
    const Verdict verdict = validator_.apply(batch, *sink_);
    if (!verdict.failed.ok()) return failed_ = verdict.failed;
    if (!verdict.rejected.ok()) {
      v1::Rejection& rejection = relay.rejections.emplace_back();
      rejection.set_process(batch.process());
      rejection.set_sentence(std::string(verdict.rejected.message()));
    }
    uncommitted_ += batch.ByteSizeLong();
    relay.applied = std::max<std::uint64_t>(relay.applied, batch.sequence());
  }
  if (batch.flush() || uncommitted_ > kMostUncommittedBytes) {
    if (uncommitted_ > 0) {
      if (absl::Status status = commit(); !status.ok()) return status;
    }
    answer(relay, reply);
  }
  return absl::OkStatus();
}

absl::Status Run::goodbye(const std::string& id, const v1::Goodbye& goodbye, Reply* reply) {
  std::lock_guard lock(mutex_);
  Relay& relay = relays_[id];
  if (!relay.done) {
    if (absl::Status status = ensure_open(); !status.ok()) return status;
    relay.applied = std::max<std::uint64_t>(relay.applied, goodbye.sequence());
    if (absl::Status status = commit(); !status.ok()) return status;
    relay.done = true;
    if (goodbye.exit_status() >= 0 || goodbye.signal() != 0) {
      closing_.exit_status = goodbye.exit_status();
      closing_.signal = goodbye.signal();
    }
    closing_.still_running += goodbye.still_running();
    closing_.notices.insert(closing_.notices.end(), goodbye.notices().begin(), goodbye.notices().end());
    if (std::all_of(relays_.begin(), relays_.end(), [](const auto& r) { return r.second.done; })) close(true);
  }
  answer(relay, reply);
  return absl::OkStatus();
}

void Run::ask(const std::string& id, Reply* reply) {
  std::lock_guard lock(mutex_);
  answer(relays_[id], reply);
}

void Run::close(bool farewell) {
  if (sink_ == nullptr) return;
  sink_.reset();
  closing_.farewell = farewell;
  if (keeper_->close) keeper_->close(opening_.id, closing_);
}

void Run::shutdown() {
  std::lock_guard lock(mutex_);
  if (sink_ == nullptr) return;
  if (failed_.ok() && uncommitted_ > 0) (void)commit();  // nobody can receive the error
  close(false);
}

std::shared_ptr<Run> RunTable::find_or_add(RunOpening opening) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Run>& run = runs_[opening.id];
  if (run == nullptr) run = std::make_shared<Run>(std::move(opening), &keeper_);
  return run;
}

void RunTable::close_abandoned(Run::Clock::time_point now, Run::Clock::duration patience) {
  std::vector<std::shared_ptr<Run>> runs;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, run] : runs_) runs.push_back(run);
  }
  for (const std::shared_ptr<Run>& run : runs) run->close_abandoned(now, patience);
}

void RunTable::shutdown() {
  std::lock_guard lock(mutex_);
  for (auto& [id, run] : runs_) run->shutdown();
}

}  // namespace castscope::ingest
