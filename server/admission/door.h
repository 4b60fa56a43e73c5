// Lets those in whose token allows what they want, before anything that they send is read. Wrong tokens are answered
// slowly, and told.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "server/admission/tokens.h"

namespace castscope::admission {

// Somebody who was let in.
struct Guest {
  std::string name = {};    // of the token; "" = no token is asked for
  std::string digest = {};  // of the token
};

// Thread-safe.
class Door {
 public:
  static constexpr char kKey[] = "authorization";  // of a call's metadata: "Bearer TOKEN"
  using Told = std::function<void(const std::string& sentence)>;

  // `told` gets a sentence for each peer that gives a wrong token, at most one of a kind in ten seconds for each
  // machine. Without any token everybody is let in.
  Door(Tokens tokens, Told told);

  bool asks() const;  // for a token

  // `authorization` is what the peer gave under kKey. Waits a second before it refuses a wrong token; `gone` is asked
  // meanwhile whether the caller has gone. Who comes with a token that becomes a right one meanwhile is let in: tokens
  // are replaced a moment before the collector learns of it. UNAUTHENTICATED: no token, a wrong one, or one whose time
  // is over; PERMISSION_DENIED: the token is right and does not allow that.
  absl::StatusOr<Guest> admit(const std::string& authorization, Role role, const std::string& peer,
                              const std::function<bool()>& gone);
  // Returns false once the token by which a guest was let in was removed, has run out, or lost the role. Each message
  // of a stream asks, so that it has to be quick.
  bool still_admits(const Guest& guest, Role role) const;
  // Replaces the tokens.
  void change(Tokens tokens);
  // Whoever waits is answered at once.
  void stop();

 private:
  static constexpr int kMostWaiting = 64;  // each holds a thread; more than these are answered at once
  // Returns the tokens that have this one, if any has it in time; null otherwise.
  std::shared_ptr<const Tokens> wait_for(const std::string& digest, const std::function<bool()>& gone);
  void tell(const std::string& what, const std::string& peer);
  std::shared_ptr<const Tokens> tokens() const;

  const Told told_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  int waiting_ = 0;
  std::shared_ptr<const Tokens> tokens_;
  struct Failures {
    std::int64_t told_at = 0;  // seconds on the steady clock
    std::uint64_t since = 0;   // not told yet
  };
  std::map<std::string, Failures> failures_;  // by what it was, and the machine
};

}  // namespace castscope::admission
