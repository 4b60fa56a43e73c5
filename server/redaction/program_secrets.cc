#include "server/redaction/program_secrets.h"

#include <algorithm>
#include <utility>

namespace castscope::redaction {
namespace {

std::size_t behind_colon(std::string_view word) {
  const std::size_t colon = word.find(':');
  return colon == std::string_view::npos ? ProgramSecrets::kNone : colon + 1;
}

bool is_wandb_key(std::string_view word) {
  return word.size() == 40 && word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Whether these are flags of one letter, the last of which is one of `letters`: -u, -su.
bool is_flags_with(std::string_view word, std::string_view letters) {
  return word.size() > 1 && word[0] == '-' && letters.find(word.back()) != std::string_view::npos &&
         std::ranges::all_of(word.substr(1), [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; });
}

}  // namespace

ProgramSecrets::Program ProgramSecrets::named(std::string_view word) {
  const std::string_view name = word.substr(word.rfind('/') + 1);
  if (name == "curl") return Program::kCurl;
  if (name == "mysql" || name == "mysqldump" || name == "mysqladmin" || name == "mysqlimport" || name == "mariadb" ||
      name == "mariadb-dump")
    return Program::kMysql;
  if (name == "sshpass") return Program::kSshpass;
  if (name == "redis-cli") return Program::kRedis;
  if (name == "wandb") return Program::kWandb;
  if (name == "docker" || name == "podman") return Program::kDocker;
  return Program::kOther;
}

std::size_t ProgramSecrets::begin_in(std::string_view word) {
  if (next_ != Next::kNothing) return begin_in_value(word);
  if (const std::size_t begin = begin_in_option(word); begin != kNone) return begin;
  // `sshpass -p X ssh -p 22`: the second one is a port.
  if (program_ == Program::kSshpass && !word.starts_with('-')) program_ = Program::kOther;
  if (word == "|" || word == "||" || word == "&&" || word == ";") program_ = Program::kOther;
  if (const Program named = ProgramSecrets::named(word); named != Program::kOther) program_ = named;
  return kNone;
}

std::size_t ProgramSecrets::begin_in_value(std::string_view word) {
  switch (std::exchange(next_, Next::kNothing)) {
    case Next::kNothing:
      return kNone;
    case Next::kSecret:
      return 0;
    case Next::kUserAndSecret:
      return behind_colon(word);
    case Next::kCookies:
      return word.find('=') == std::string_view::npos ? kNone : 0;  // else it is a file
  }
  return kNone;
}

std::size_t ProgramSecrets::begin_in_option(std::string_view word) {
  const bool glued = word.size() > 2 && word.starts_with('-') && word[1] != '-';  // -pSECRET
  switch (program_) {
    case Program::kOther:
      return kNone;
    case Program::kCurl:
      if (is_flags_with(word, "uU") || word == "--user" || word == "--proxy-user") next_ = Next::kUserAndSecret;
      if (is_flags_with(word, "b")) next_ = Next::kCookies;
      return glued && (word[1] == 'u' || word[1] == 'U') ? behind_colon(word) : kNone;
    case Program::kMysql:
      return glued && word[1] == 'p' ? 2 : kNone;
    case Program::kSshpass:
      if (word == "-p") next_ = Next::kSecret;
      return glued && word[1] == 'p' ? 2 : kNone;
    case Program::kRedis:
      if (word == "-a") next_ = Next::kSecret;
      return kNone;
    case Program::kWandb:
      if (word == "login") program_ = Program::kWandbLogin;
      return kNone;
    case Program::kWandbLogin:
      return is_wandb_key(word) ? 0 : kNone;
    case Program::kDocker:
      if (word == "login") program_ = Program::kDockerLogin;
      return kNone;
    case Program::kDockerLogin:
      if (word == "-p") next_ = Next::kSecret;
      return kNone;
  }
  return kNone;
}

}  // namespace castscope::redaction
