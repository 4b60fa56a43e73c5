#include "server/web/access.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace castscope::web {
namespace {

constexpr std::string_view kBefore = "/t/";

constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

bool has_header(const Response& response, std::string_view name) {
  return std::any_of(response.headers.begin(), response.headers.end(),
                     [&](const auto& header) { return header.first == name; });
}

}  // namespace

absl::StatusOr<std::string> new_token() {
  std::array<char, 16> bits{};
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

std::optional<std::string> behind_token(std::string_view path, std::string_view token) {
  if (!path.starts_with(kBefore)) return std::nullopt;
  path.remove_prefix(kBefore.size());
  const std::size_t end = path.find('/');
  if (!equal_in_constant_time(path.substr(0, end), token)) return std::nullopt;
  return end == std::string_view::npos ? std::string() : std::string(path.substr(end));
}

void add_security_headers(Response& response) {
  response.headers.emplace_back("Content-Security-Policy", kPolicy);
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  if (!has_header(response, "Cache-Control")) response.headers.emplace_back("Cache-Control", "no-store");
}

Handler guarded(std::string token, Handler answer) {
  return [token = std::move(token), answer = std::move(answer)](const Request& request) {
    Response response;
    const auto rest = behind_token(request.path, token);
    if (!is_loopback_host(request.host)) {
      response = {.status = 421,
                  .type = "text/plain; charset=utf-8",
                  .body =
                      "the viewer answers to localhost and 127.0.0.1 only; from another machine, look by "
                      "`ssh -L PORT:127.0.0.1:PORT THIS-MACHINE`\n"};
    } else if (!rest) {
      response.status = 404;
    } else if (rest->empty()) {  // links in the page are relative to the slash
      response.status = 308;
      response.headers.emplace_back("Location", absl::StrCat(request.path, "/"));
    } else {
      Request inner = request;
      inner.path = *rest;
      response = answer(inner);
    }
    add_security_headers(response);
    return response;
  };
}

}  // namespace castscope::web
