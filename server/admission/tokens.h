// The tokens that a collector knows, and what each may do. Only their digests are kept: who reads the file of tokens
// learns none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/config/json_places.h"

namespace castscope::admission {

// The owner of a token may send runs, see runs, or administer the collector. A token for kAdminister allows all three.
enum class Role : std::uint8_t { kSend, kSee, kAdminister };
inline constexpr std::array<std::string_view, 3> kRoleWords = {"send", "see", "administer"};

std::optional<Role> role_of(std::string_view word);

struct Quotas {  // 0 = no bound
  std::uint64_t events_per_second = 0;
  std::uint64_t bytes_per_run = 0;
  std::uint64_t open_runs = 0;
  bool operator==(const Quotas&) const = default;
};

struct Token {
  std::string name = {};    // of whoever has it, for the log. Two tokens may have one name, as while one is replaced
  std::string digest = {};  // digest_of() the token
  std::vector<Role> may = {};
  std::optional<std::int64_t> until = {};  // seconds since 1970; from then on it is not taken
  std::optional<Quotas> quotas = {};       // nothing = the collector's
  bool allows(Role role) const;
};

class Tokens {
 public:
  // Reads the text of a file of tokens (docs/tokens.schema.json). `file` is for the errors, which name line and column.
  static absl::StatusOr<Tokens> parse(const std::string& text, const std::string& file);
  // The text of such a file. One that others may write to, or in whose place they may put another one, is refused.
  static absl::StatusOr<std::string> read(const std::string& file);

  void add(Token token) { tokens_.push_back(std::move(token)); }
  bool empty() const { return tokens_.empty(); }
  const Token* find(std::string_view digest) const;  // null = there is none

 private:
  std::vector<Token> tokens_;
};

// Reads the quotas at this place of a file; the first thing that is wrong with them goes into `status`.
Quotas quotas_at(const config::PlacedJson& json, const std::string& pointer, absl::Status* status);

// "2027-01-31" → the first second after that day in UTC; nothing = there is no such day.
std::optional<std::int64_t> end_of_day(std::string_view day);

}  // namespace castscope::admission
