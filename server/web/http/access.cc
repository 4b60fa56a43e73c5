#include "server/web/http/access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/admission/random_token.h"
#include "server/web/http/problem.h"

namespace castscope::web {
namespace {

constexpr std::string_view kBefore = "/t/";

constexpr std::size_t kTokenLength = 22;  // of admission::new_token()

// Returns nullopt if the file holds no token, or if others may know it.
std::optional<std::string> read_token(const std::string& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  struct stat status {};
  const bool own = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                   (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  std::array<char, kTokenLength + 1> text{};
  const ssize_t n = own ? read(descriptor, text.data(), text.size()) : -1;
  close(descriptor);
  const std::string_view token(text.data(), kTokenLength);
  const auto fits = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_'; };
  if (n != static_cast<ssize_t>(kTokenLength) || !std::all_of(token.begin(), token.end(), fits)) return std::nullopt;
  return std::string(token);
}

}  // namespace

bool is_loopback_host(std::string_view host) {
  if (host.starts_with("[")) return host.substr(0, host.find(']') + 1) == "[::1]";
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "127.0.0.1" || absl::EqualsIgnoreCase(absl::string_view(name.data(), name.size()), "localhost");
}

absl::StatusOr<std::string> kept_token(const std::string& file) {
  if (std::optional<std::string> known = read_token(file)) return *std::move(known);
  auto token = admission::new_token();
  if (!token.ok()) return token;
  (void)unlink(file.c_str());
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  const int error = errno;
  const bool written =
      descriptor >= 0 && write(descriptor, token->data(), token->size()) == static_cast<ssize_t>(token->size());
  if (descriptor >= 0) close(descriptor);
  if (!written) return absl::UnavailableError(absl::StrCat(file, " cannot be written: ", std::strerror(error)));
  return token;
}

std::optional<Behind> behind_token(std::string_view path) {
  if (!path.starts_with(kBefore)) return std::nullopt;
  path.remove_prefix(kBefore.size());
  const std::size_t end = path.find('/');
  return Behind{.token = std::string(path.substr(0, end)),
                .rest = end == std::string_view::npos ? std::string() : std::string(path.substr(end))};
}

std::string bearer(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view scheme = authorization.substr(0, kScheme.size());
  if (!absl::EqualsIgnoreCase(absl::string_view(scheme.data(), scheme.size()), kScheme.data())) return "";
  authorization.remove_prefix(kScheme.size());
  return std::string(authorization.substr(std::min(authorization.find_first_not_of(' '), authorization.size())));
}

namespace {

Response without_token(const Request& request) {
  constexpr char kWhere[] =
      "the token is missing or wrong: it stands in the path as /t/TOKEN/, as in the address that castscope printed, or "
      "in the header as Authorization: Bearer TOKEN";
  // A person with a browser asked for the page. A browser that cannot show an error's type shows one of its own.
  if (!absl::StrContains(request.path, "/api/"))
    return {.status = 404, .type = "text/plain; charset=utf-8", .body = absl::StrCat("castscope: ", kWhere, ".\n")};
  if (!request.path.starts_with("/api/")) return problem(404, kWhere);
  Response response = problem(401, kWhere);
  response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"castscope\"");
  return response;
}

}  // namespace

Handler guarded(Admits admits, Handler answer) {
  return [admits = std::move(admits), answer = std::move(answer)](const Request& request) {
    if (!is_loopback_host(request.host))
      return problem(421,
                     "the viewer answers to localhost, 127.0.0.1 and [::1] only; from another machine, look by "
                     "`ssh -L PORT:127.0.0.1:PORT THIS-MACHINE`");
    Request inner = request;
    const std::optional<Behind> behind = behind_token(request.path);
    const std::string token = behind ? behind->token : bearer(request.authorization);
    if (token.empty()) return without_token(request);
    if (!admits(token)) {
      Response response = without_token(request);
      response.slowly = true;
      return response;
    }
    if (behind) inner.path = behind->rest;
    if (!inner.path.empty()) return answer(inner);
    Response response{.status = 308};  // links in the page are relative to the slash
    response.headers.emplace_back("Location", absl::StrCat(request.path, "/"));
    return response;
  };
}

}  // namespace castscope::web
