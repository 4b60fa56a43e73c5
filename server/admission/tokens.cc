#include "server/admission/tokens.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/config/json_members.h"
#include "server/config/nearest.h"
#include "server/config/settings_file.h"

namespace castscope::admission {
namespace {

using config::Members;
using config::PlacedJson;

constexpr std::array<std::string_view, 2> kKeysOfFile = {"$schema", "tokens"};
constexpr std::array<std::string_view, 5> kKeysOfToken = {"name", "sha256", "may", "until", "quotas"};
constexpr std::array<std::string_view, 3> kKeysOfQuotas = {"events_per_second", "bytes_per_run", "open_runs"};
constexpr std::size_t kDigestDigits = 64, kLongestName = 100;

bool is_name(std::string_view name) {
  return name.size() <= kLongestName && std::ranges::all_of(name, [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' || c == '@';
         });
}

bool is_digest(const std::string& text) {
  return text.size() == kDigestDigits && std::ranges::all_of(text, [](char c) {
           return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f');
         });
}

void read_name_and_digest(Members& members, Token* token) {
  for (const char* const key : {"name", "sha256", "may"})
    if (!members.has(key)) return members.complain("", absl::StrCat("a token needs its \"", key, "\""));
  token->name = members.text("name").value_or("");
  if (!is_name(token->name))
    members.complain("name", "a name has at most 100 of A-Z a-z 0-9 . _ - @: it stands in the log");
  token->digest = absl::AsciiStrToLower(members.text("sha256").value_or(""));
  if (members.status().ok() && !is_digest(token->digest))
    members.complain("sha256",
                     "this must be the SHA-256 of the token, 64 hexadecimal digits: `castscope token` "
                     "makes a token and its entry");
}

void read_roles(Members& members, Token* token) {
  for (const std::string& word : members.texts("may")) {
    if (const std::optional<Role> role = role_of(word))
      token->may.push_back(*role);
    else
      members.complain("may", absl::StrCat("\"", word, "\" is nothing that a token may do",
                                           config::meant(word, kRoleWords), " (send, see, administer)"));
  }
}

void read_end(Members& members, Token* token) {
  const std::optional<std::string> day = members.text("until");
  if (!day) return;
  token->until = end_of_day(*day);
  if (!token->until) members.complain("until", "this must be the last day of the token, in UTC: \"2027-01-31\"");
}

}  // namespace

std::optional<Role> role_of(std::string_view word) {
  const auto found = std::ranges::find(kRoleWords, word);
  if (found == kRoleWords.end()) return std::nullopt;
  return static_cast<Role>(found - kRoleWords.begin());
}

bool Token::allows(Role role) const {
  return std::ranges::any_of(may, [role](Role one) { return one == role || one == Role::kAdminister; });
}

const Token* Tokens::find(std::string_view digest) const {
  const auto found = std::ranges::find(tokens_, digest, &Token::digest);
  return found != tokens_.end() ? &*found : nullptr;
}

std::optional<std::int64_t> end_of_day(std::string_view day) {
  const std::vector<std::string> parts = absl::StrSplit(absl::string_view(day.data(), day.size()), '-');
  int year = 0, month = 0, number = 0;
  if (parts.size() != 3 || parts[0].size() != 4 || parts[1].size() != 2 || parts[2].size() != 2 ||
      !absl::SimpleAtoi(parts[0], &year) || !absl::SimpleAtoi(parts[1], &month) || !absl::SimpleAtoi(parts[2], &number))
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(number))};
  if (month < 1 || number < 1 || !date.ok()) return std::nullopt;
  const auto next = std::chrono::sys_days(date) + std::chrono::days(1);
  return std::chrono::duration_cast<std::chrono::seconds>(next.time_since_epoch()).count();
}

Quotas quotas_at(const PlacedJson& json, const std::string& pointer, absl::Status* status) {
  Members members(json, pointer, kKeysOfQuotas);
  const Quotas quotas{.events_per_second = members.number("events_per_second").value_or(0),
                      .bytes_per_run = members.bytes("bytes_per_run").value_or(0),
                      .open_runs = members.number("open_runs").value_or(0)};
  if (status->ok()) *status = members.status();
  return quotas;
}

absl::StatusOr<Tokens> Tokens::parse(const std::string& text, const std::string& file) {
  absl::StatusOr<PlacedJson> json = PlacedJson::parse(text, file);
  if (!json.ok()) return json.status();
  const Members all(*json, "", kKeysOfFile);
  if (!all.status().ok()) return all.status();
  const auto list = json->root().find("tokens");
  if (list == json->root().end() || !list->is_array() || list->empty())
    return json->complaint(list == json->root().end() ? "" : "/tokens",
                           "a file of tokens has a list \"tokens\" with at least one in it: {\"tokens\": [ … ]}");
  Tokens tokens;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string at = absl::StrCat("/tokens/", i);
    Members members(*json, at, kKeysOfToken);
    Token token;
    if (members.status().ok()) read_name_and_digest(members, &token);
    if (members.status().ok()) read_roles(members, &token);
    if (members.status().ok()) read_end(members, &token);
    absl::Status status = members.status();
    if (status.ok() && members.has("quotas")) token.quotas = quotas_at(*json, absl::StrCat(at, "/quotas"), &status);
    if (!status.ok()) return status;
    if (tokens.find(token.digest) != nullptr)
      return json->complaint(absl::StrCat(at, "/sha256"), "this token is in the file already");
    tokens.add(std::move(token));
  }
  return tokens;
}

absl::StatusOr<std::string> Tokens::read(const std::string& file) {
  return config::read_trusted_text(file, "the file of tokens");
}

}  // namespace castscope::admission
