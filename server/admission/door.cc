#include "server/admission/door.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/admission/digest.h"

namespace castscope::admission {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSlowness{1000}, kLook{100};
constexpr std::int64_t kBetweenLinesSeconds = 10;
constexpr std::size_t kMostMachines = 1024;

// "ipv4:10.0.0.1:4711" → "ipv4:10.0.0.1": each try comes from another port.
std::string machine_of(const std::string& peer) {
  return peer.compare(0, 2, "ip") == 0 ? peer.substr(0, peer.rfind(':')) : peer.substr(0, peer.find(':'));
}

bool is_over(const Token& token) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return token.until && std::chrono::duration_cast<std::chrono::seconds>(now).count() >= *token.until;
}

std::string word_of(Role role) { return std::string(kRoleWords[static_cast<std::size_t>(role)]); }

}  // namespace

Door::Door(Tokens tokens, Told told)
    : told_(std::move(told)), tokens_(std::make_shared<const Tokens>(std::move(tokens))) {}

std::shared_ptr<const Tokens> Door::tokens() const {
  const std::lock_guard lock(mutex_);
  return tokens_;
}

bool Door::asks() const { return !tokens()->empty(); }

void Door::change(Tokens tokens) {
  auto changed = std::make_shared<const Tokens>(std::move(tokens));
  const std::lock_guard lock(mutex_);
  tokens_ = std::move(changed);
  changed_.notify_all();
}

absl::StatusOr<Guest> Door::admit(const std::string& authorization, Role role, const std::string& peer,
                                  const std::function<bool()>& gone) {
  std::shared_ptr<const Tokens> tokens = this->tokens();
  if (tokens->empty()) return Guest();
  absl::string_view given = authorization;
  if (!absl::ConsumePrefix(&given, "Bearer ")) {
    tell("no token came from ", peer);
    return absl::UnauthenticatedError(
        "the collector asks for a token and was given none: set CASTSCOPE_TOKEN_FILE or CASTSCOPE_TOKEN; an older "
        "castscope sends it in a way that is not taken any more");
  }
  const std::string digest = digest_of({given.data(), given.size()});
  if (tokens->find(digest) == nullptr) {
    tell("a wrong token came from ", peer);
    tokens = wait_for(digest, gone);
  }
  const Token* const token = tokens != nullptr ? tokens->find(digest) : nullptr;
  if (token == nullptr)
    return absl::UnauthenticatedError(
        "the collector does not know the token that was sent: see CASTSCOPE_TOKEN_FILE and CASTSCOPE_TOKEN");
  if (is_over(*token)) {
    tell(absl::StrCat("a token of ", token->name, " whose time is over came from "), peer);
    return absl::UnauthenticatedError(absl::StrCat("the time of this token (", token->name,
                                                   ") is over: ask for a new "
                                                   "one"));
  }
  if (!token->allows(role)) {
    tell(absl::StrCat("a token of ", token->name, ", which may not ", word_of(role), ", came from "), peer);
    return absl::PermissionDeniedError(absl::StrCat("this token (", token->name, ") may not ", word_of(role)));
  }
  return Guest{.name = token->name, .digest = token->digest};
}

bool Door::still_admits(const Guest& guest, Role role) const {
  const std::shared_ptr<const Tokens> tokens = this->tokens();
  if (tokens->empty()) return true;
  const Token* const token = tokens->find(guest.digest);
  return token != nullptr && token->allows(role) && !is_over(*token);
}

std::shared_ptr<const Tokens> Door::wait_for(const std::string& digest, const std::function<bool()>& gone) {
  std::unique_lock lock(mutex_);
  const auto is_known = [&] { return tokens_->find(digest) != nullptr; };
  if (waiting_ < kMostWaiting) {
    ++waiting_;
    const Clock::time_point end = Clock::now() + kSlowness;
    while (!stopped_ && !is_known() && Clock::now() < end && !gone()) changed_.wait_for(lock, kLook);
    --waiting_;
  }
  return is_known() ? tokens_ : nullptr;
}

void Door::tell(const std::string& what, const std::string& peer) {
  if (!told_) return;
  std::uint64_t tries = 0;
  {
    const std::lock_guard lock(mutex_);
    const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(Clock::now().time_since_epoch()).count();
    if (failures_.size() >= kMostMachines) failures_.clear();
    const auto [of_machine, is_new] = failures_.try_emplace(what + machine_of(peer));
    ++of_machine->second.since;
    if (!is_new && now - of_machine->second.told_at < kBetweenLinesSeconds) return;
    of_machine->second.told_at = now;
    tries = std::exchange(of_machine->second.since, 0);
  }
  told_(absl::StrCat(what, peer, tries > 1 ? absl::StrCat(" (", tries, " tries)") : ""));
}

void Door::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace castscope::admission
