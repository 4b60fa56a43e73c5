#include "server/cli/recording/collector_access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/cli/job/job_environment.h"
#include "server/cli/recording/socket_place.h"
#include "server/cli/recording/token_proof.h"
#include "server/config/settings_file.h"
#include "server/ingest/listening/address.h"

namespace castscope::cli {
namespace {

// A token travels in a header of HTTP/2.
absl::Status check_token(const std::string& token, const std::string& where) {
  constexpr std::size_t kLongest = 1000;
  if (token.size() <= kLongest && std::ranges::all_of(token, [](char c) { return c >= ' ' && c <= '~'; }))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, " is no token: it has at most 1000 characters, which are printable ones of ASCII"));
}

// A pipe of a shell is this process's own, and no file that somebody could replace.
bool is_own_descriptor(const std::string& path) {
  return path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

void make_absolute(std::string& path) {
  std::error_code error;
  if (path.empty() || path.front() == '/') return;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (!error) path = absolute.string();
}

// `castscope recover` reads these paths later, perhaps in another working folder. A socket stays relative if its
// absolute path is longer than the system allows for a socket.
void make_absolute(CollectorAddress& collector) {
  const std::string given = ingest::socket_path(collector.address);
  std::string socket = given;
  make_absolute(socket);
  if (socket != given && socket.size() < sizeof sockaddr_un{}.sun_path) collector.address = "unix:" + socket;
  for (std::string* path : {&collector.token_file, &collector.tls.root_certificate_file,
                            &collector.tls.certificate_file, &collector.tls.key_file})
    make_absolute(*path);
}

}  // namespace

absl::StatusOr<std::string> read_token_file(const std::string& path, bool lets_in) {
  constexpr std::size_t kMost = 4096;
  int file = -1;
  if (lets_in && !is_own_descriptor(path)) {
    const absl::StatusOr<int> opened = config::open_trusted(path, "the token's file");
    if (!opened.ok()) return opened.status();
    file = *opened;
  } else {
    file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  }
  struct stat info {};
  const bool is_there = file >= 0 && fstat(file, &info) == 0;
  const int error = errno;
  std::string text(kMost, '\0');
  const ssize_t size = is_there ? read(file, text.data(), text.size()) : -1;
  if (file >= 0) close(file);
  if (!is_there) return absl::NotFoundError(absl::StrCat("the token's file ", path, ": ", std::strerror(error)));
  // A pipe is what a shell makes of `--token-file <(pass show collector)`.
  if (S_ISREG(info.st_mode) && (info.st_mode & 077) != 0)
    return absl::PermissionDeniedError(
        absl::StrCat("the token's file ", path, " can be read by others: `chmod 600 ", path, "`"));
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  text = text.substr(0, text.find_first_of("\r\n"));
  if (text.empty()) return absl::InvalidArgumentError(absl::StrCat("the token's file ", path, " has no first line"));
  if (absl::Status status = check_token(text, absl::StrCat("the first line of ", path)); !status.ok()) return status;
  return text;
}

absl::Status complete(CollectorAddress& collector) {
  // First of all: who goes on in spite of an error sends nothing in clear to another machine.
  if (collector.tls.root_certificate_file.empty()) collector.tls.root_certificate_file = variable("CASTSCOPE_CA");
  if (collector.tls.certificate_file.empty() && collector.tls.key_file.empty()) {
    collector.tls.certificate_file = variable("CASTSCOPE_CERT");
    collector.tls.key_file = variable("CASTSCOPE_KEY");
  }
  collector.tls.use |= (!collector.address.empty() && relay::needs_tls(collector.address)) ||
                       !collector.tls.root_certificate_file.empty() || !collector.tls.certificate_file.empty();
  if (collector.token_file.empty() && collector.token.empty()) collector.token_file = variable("CASTSCOPE_TOKEN_FILE");
  if (!collector.is_ours) make_absolute(collector);
  if (!collector.token_file.empty()) {
    absl::StatusOr<std::string> token = read_token_file(collector.token_file, collector.is_ours);
    if (!token.ok()) return token.status();
    collector.token = *std::move(token);
  }
  if (absl::Status status = check_token(collector.token, "what --token or CASTSCOPE_TOKEN gives"); !status.ok())
    return status;
  if (absl::Status status = relay::check_own_certificate(collector.tls); !status.ok()) return status;
  const std::string socket = ingest::socket_path(collector.address);
  if (collector.token.empty() || socket.empty() || collector.tls.use) return absl::OkStatus();
  absl::Status status = check_place_of_socket(socket);
  if (!status.ok()) collector.token.clear(), collector.token_file.clear();  // it is read again for each connection
  return status;
}

std::string token_proof_of(const CollectorAddress& collector) {
  return proof_of(collector.token, {.address = collector.address});
}

relay::Destination destination_of(const CollectorAddress& collector) {
  const relay::Tls& tls = collector.tls;
  relay::Destination whereto{collector.address, tls.use, tls.root_certificate_file, tls.certificate_file, tls.key_file};
  const std::string token =
      collector.token_file.empty() ? collector.token : read_token_file(collector.token_file).value_or(collector.token);
  whereto.token_proof = proof_of(token, whereto);
  return whereto;
}

absl::Status keep_token_from_others(CollectorAddress& collector, const relay::Destination& whereto) {
  if (collector.token.empty() || is_proof(whereto.token_proof, collector.token, whereto)) return absl::OkStatus();
  if (!whereto.token_proof.empty())
    return absl::PermissionDeniedError(
        absl::StrCat("the run was sent to the collector at ", whereto.address,
                     " with another token than the one that you give now; if that one is for this collector, say so: "
                     "--collector ",
                     whereto.address));
  collector.token.clear();
  collector.token_file.clear();
  return absl::OkStatus();
}

}  // namespace castscope::cli
