#include "server/web/http/access.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/web/http/problem.h"

namespace castscope::web {
namespace {

constexpr std::string_view kBefore = "/t/";

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

constexpr std::size_t kTokenBits = 128, kTokenLength = 22;  // in base64

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

absl::StatusOr<std::string> new_token() {
  std::array<char, kTokenBits / 8> bits{};
  if (getrandom(bits.data(), bits.size(), 0) != static_cast<ssize_t>(bits.size()))
    return absl::UnavailableError("the system gives no random numbers for the viewer's token");
  std::string token = absl::WebSafeBase64Escape(absl::string_view(bits.data(), bits.size()));
  while (!token.empty() && token.back() == '=') token.pop_back();
  return token;
}

bool is_loopback_host(std::string_view host) {
  if (host.starts_with("[")) return host.substr(0, host.find(']') + 1) == "[::1]";
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "127.0.0.1" || absl::EqualsIgnoreCase(absl::string_view(name.data(), name.size()), "localhost");
}

absl::StatusOr<std::string> kept_token(const std::string& file) {
  if (std::optional<std::string> known = read_token(file)) return *std::move(known);
  auto token = new_token();
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

std::optional<std::string> behind_token(std::string_view path, std::string_view token) {
  if (!path.starts_with(kBefore)) return std::nullopt;
  path.remove_prefix(kBefore.size());
  const std::size_t end = path.find('/');
  if (!equal_in_constant_time(path.substr(0, end), token)) return std::nullopt;
  return end == std::string_view::npos ? std::string() : std::string(path.substr(end));
}

bool is_bearer(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view scheme = authorization.substr(0, kScheme.size());
  if (!absl::EqualsIgnoreCase(absl::string_view(scheme.data(), scheme.size()), kScheme.data())) return false;
  authorization.remove_prefix(kScheme.size());
  const std::size_t begin = std::min(authorization.find_first_not_of(' '), authorization.size());
  return equal_in_constant_time(authorization.substr(begin), token);
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

Handler guarded(std::string token, Handler answer) {
  return [token = std::move(token), answer = std::move(answer)](const Request& request) {
    if (!is_loopback_host(request.host))
      return problem(421,
                     "the viewer answers to localhost, 127.0.0.1 and [::1] only; from another machine, look by "
                     "`ssh -L PORT:127.0.0.1:PORT THIS-MACHINE`");
    Request inner = request;
    if (const auto rest = behind_token(request.path, token)) {
      inner.path = *rest;
    } else if (request.path.starts_with(kBefore) || !is_bearer(request.authorization, token)) {
      return without_token(request);
    }
    if (!inner.path.empty()) return answer(inner);
    Response response{.status = 308};  // links in the page are relative to the slash
    response.headers.emplace_back("Location", absl::StrCat(request.path, "/"));
    return response;
  };
}

}  // namespace castscope::web
