#include "server/ingest/listening/address.h"

#include <sys/un.h>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/loopback.h"
#include "proto/unix_address.h"

namespace castscope::ingest {
namespace {

constexpr char kUnix[] = "unix:";

absl::Status check_socket(const std::string& address) {
  const std::string path = socket_path(address);
  const bool has_name = path.empty() ? address.find_first_not_of(' ', address.find(':') + 1) != std::string::npos &&
                                           !absl::StartsWith(address, kUnix)
                                     : path.back() != '/';
  if (!has_name)
    return absl::InvalidArgumentError(absl::StrCat("cannot listen on \"", address,
                                                   "\": the path of the socket is missing; give it, such as "
                                                   "unix:/run/user/1000/castscope.sock"));
  if (path.empty()) return absl::OkStatus();
  if (path.size() >= sizeof sockaddr_un{}.sun_path)
    return absl::InvalidArgumentError(absl::StrCat("cannot listen on ", address, ": the path of a socket has at most ",
                                                   sizeof sockaddr_un{}.sun_path - 1, " bytes; give a shorter one"));
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(path, error).parent_path();
  if (std::filesystem::is_directory(folder, error)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("cannot listen on ", address, ": there is no folder ", folder.string(),
                                          "; make it (`mkdir -p ", folder.string(), "`), or give another path"));
}

}  // namespace

std::string socket_path(const std::string& address) {
  const std::string path = absl::StartsWith(address, kUnix) ? address.substr(sizeof kUnix - 1) : "";
  return absl::StartsWith(path, "//") ? path.substr(2) : path;  // "unix:///run/a", as in gRPC's names
}

bool split_address(const std::string& address, std::string* host, std::string* port) {
  return !wire::is_unix(address) && wire::split_host_port(address, host, port);
}

absl::Status check_listener(const Options& options) {
  const bool certificate = !options.certificate_file.empty(), key = !options.key_file.empty();
  if (certificate != key)
    return absl::InvalidArgumentError(
        absl::StrCat("TLS needs a certificate and its key; the ", certificate ? "key" : "certificate", " is missing"));
  if (!options.client_authorities_file.empty() && !certificate)
    return absl::InvalidArgumentError(
        "clients can be asked for a certificate only with TLS: give the collector's "
        "certificate and its key, too");
  if (options.address.empty()) return absl::OkStatus();
  const bool asks = (options.door != nullptr && options.door->asks()) || !options.client_authorities_file.empty();
  if (wire::is_unix(options.address)) {
    if (absl::Status status = check_socket(options.address); !status.ok()) return status;
    if (!socket_path(options.address).empty() || asks) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat("will not listen on ", options.address,
                                                    ", which every user of this machine can reach, without a token; "
                                                    "unix:PATH needs none"));
  }
  std::string host, port;
  std::uint32_t number = 0;
  const bool has_space =
      options.address.find_first_of(" \t\r\n") != std::string::npos;  // SimpleAtoi takes blanks around a number
  if (has_space || !wire::split_host_port(options.address, &host, &port) || !absl::SimpleAtoi(port, &number) ||
      number > 65535)
    return absl::InvalidArgumentError(
        absl::StrCat("cannot listen on \"", options.address, "\": give HOST:PORT, such as 127.0.0.1:7390"));
  if (wire::is_loopback(options.address) || (certificate && asks)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("will not listen on ", options.address,
                                                  ", which other machines can reach, without ",
                                                  certificate ? "a token, or certificates of clients"
                                                  : asks      ? "TLS (certificate and key)"
                                                              : "TLS (certificate and key) and a token",
                                                  "; 127.0.0.1 needs neither"));
}

}  // namespace castscope::ingest
