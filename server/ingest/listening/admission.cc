#include "server/ingest/listening/admission.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/ingest/listening/address.h"

namespace castscope::ingest {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSlowness{1000}, kLook{100};
constexpr std::int64_t kBetweenLinesSeconds = 10;
constexpr std::size_t kMostMachines = 1024;

// "ipv4:10.0.0.1:4711" → "ipv4:10.0.0.1": each try comes from another port.
std::string machine_of(const std::string& peer) {
  return peer.compare(0, 2, "ip") == 0 ? peer.substr(0, peer.rfind(':')) : peer.substr(0, peer.find(':'));
}

}  // namespace

Admission::Admission(std::string token, std::function<void(const std::string&)> told)
    : token_(std::move(token)), told_(std::move(told)) {}

absl::Status Admission::admit(const std::string& authorization, const std::string& peer,
                              const std::function<bool()>& stopped) {
  if (token_.empty()) return absl::OkStatus();
  absl::string_view given = authorization;
  const bool has_one = absl::ConsumePrefix(&given, "Bearer ");
  if (has_one && same_token(std::string(given), token_)) return absl::OkStatus();
  if (has_one) {
    tell(peer);
    std::unique_lock lock(mutex_);
    const Clock::time_point end = Clock::now() + kSlowness;
    while (!stopped_ && Clock::now() < end && !stopped()) changed_.wait_for(lock, kLook);
  }
  return absl::UnauthenticatedError(
      has_one
          ? "the collector has another token than the one that was sent: see CASTSCOPE_TOKEN_FILE and CASTSCOPE_TOKEN"
          : "the collector asks for a token and was given none: set CASTSCOPE_TOKEN_FILE or CASTSCOPE_TOKEN; an "
            "older castscope sends it in a way that is not taken any more");
}

void Admission::tell(const std::string& peer) {
  if (!told_) return;
  std::uint64_t tries = 0;
  {
    const std::lock_guard lock(mutex_);
    const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(Clock::now().time_since_epoch()).count();
    if (failures_.size() >= kMostMachines) failures_.clear();
    const auto [of_machine, is_new] = failures_.try_emplace(machine_of(peer));
    ++of_machine->second.since;
    if (!is_new && now - of_machine->second.told_at < kBetweenLinesSeconds) return;
    of_machine->second.told_at = now;
    tries = std::exchange(of_machine->second.since, 0);
  }
  told_(absl::StrCat("a wrong token came from ", peer, tries > 1 ? absl::StrCat(" (", tries, " tries)") : ""));
}

void Admission::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace castscope::ingest
