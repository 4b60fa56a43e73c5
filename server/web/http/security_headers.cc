#include "server/web/http/security_headers.h"

#include <algorithm>
#include <string_view>

namespace castscope::web {
namespace {

constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

bool has_header(const Response& response, std::string_view name) {
  return std::any_of(response.headers.begin(), response.headers.end(),
                     [&](const auto& header) { return header.first == name; });
}

}  // namespace

void add_security_headers(Response& response) {
  response.headers.emplace_back("Content-Security-Policy", kPolicy);
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  if (!has_header(response, "Cache-Control")) response.headers.emplace_back("Cache-Control", "no-store");
}

}  // namespace castscope::web
