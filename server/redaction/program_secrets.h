// Secrets that a few well-known programs take behind an option whose name says nothing: `-p` is a port far more often
// than a password, so what counts is whose option it is.
#pragma once

#include <cstddef>
#include <string_view>

namespace castscope::redaction {

// Is told the words of a command, one after the other.
class ProgramSecrets {
 public:
  static constexpr std::size_t kNone = std::string_view::npos;
  // Returns where in this word a secret begins, or kNone.
  std::size_t begin_in(std::string_view word);

 private:
  enum class Program { kOther, kCurl, kMysql, kSshpass, kRedis, kWandb, kWandbLogin, kDocker, kDockerLogin };
  enum class Next { kNothing, kSecret, kUserAndSecret, kCookies };  // what the option before this word says of it

  static Program named(std::string_view word);
  std::size_t begin_in_value(std::string_view word);
  std::size_t begin_in_option(std::string_view word);

  Program program_ = Program::kOther;
  Next next_ = Next::kNothing;
};

}  // namespace castscope::redaction
