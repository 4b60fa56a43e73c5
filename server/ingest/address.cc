#include "server/ingest/address.h"

#include <arpa/inet.h>

#include <cstdint>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace castscope::ingest {
namespace {

bool is_unix(const std::string& address) {
  return absl::StartsWith(address, "unix:") || absl::StartsWith(address, "unix-abstract:");
}

// Splits "host:port" and "[host]:port". Returns false for other forms.
bool split(const std::string& address, std::string* host, std::string* port) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return false;
  *host = address.substr(0, colon);
  *port = address.substr(colon + 1);
  if (host->size() > 2 && host->front() == '[' && host->back() == ']') {
    *host = host->substr(1, host->size() - 2);
    return true;
  }
  return !host->empty() && host->find(':') == std::string::npos;
}

}  // namespace

bool is_loopback(const std::string& address) {
  if (is_unix(address)) return true;
  std::string host, port;
  if (!split(address, &host, &port)) return false;
  if (host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

absl::Status check_listener(const Options& options) {
  const bool certificate = !options.certificate_file.empty(), key = !options.key_file.empty();
  if (certificate != key)
    return absl::InvalidArgumentError(
        absl::StrCat("TLS needs a certificate and its key; the ", certificate ? "key" : "certificate", " is missing"));
  if (options.address.empty() || is_unix(options.address)) return absl::OkStatus();
  std::string host, port;
  std::uint32_t number = 0;
  if (!split(options.address, &host, &port) || !absl::SimpleAtoi(port, &number) || number > 65535)
    return absl::InvalidArgumentError(
        absl::StrCat("cannot listen on \"", options.address, "\": give HOST:PORT, such as 127.0.0.1:7390"));
  if (is_loopback(options.address) || (certificate && !options.token.empty())) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("will not listen on ", options.address,
                                                  ", which other machines can reach, without ",
                                                  certificate             ? "a token"
                                                  : options.token.empty() ? "TLS (certificate and key) and a token"
                                                                          : "TLS (certificate and key)",
                                                  "; 127.0.0.1 needs neither"));
}

bool same_token(const std::string& given, const std::string& expected) {
  std::size_t difference = given.size() ^ expected.size();
  for (std::size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned char>(given[i]) ^
                  static_cast<unsigned char>(expected.empty() ? 0 : expected[i % expected.size()]);
  return difference == 0;
}

}  // namespace castscope::ingest
