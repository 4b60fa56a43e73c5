#include "server/cli/serving/monitor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/log/log.h"
#include "server/web/http/access.h"

namespace castscope::cli {
namespace {

constexpr char kPlain[] = "text/plain; charset=utf-8";
constexpr char kExposition[] = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace

web::Response answer_monitor(const Monitored& monitored, const web::Request& request) {
  // A page from elsewhere could have a browser of this machine read them under a name that was rebound to it.
  if (!web::is_loopback_host(request.host))
    return {.status = 421, .type = kPlain, .body = "metrics are told to localhost, 127.0.0.1 and [::1] only\n"};
  if (request.path == "/metrics") return {.status = 200, .type = kExposition, .body = monitored.metrics()};
  if (request.path == "/healthz") return {.status = 200, .type = kPlain, .body = "ok\n"};
  if (request.path == "/readyz") {
    const std::string trouble = monitored.trouble();
    if (trouble.empty()) return {.status = 200, .type = kPlain, .body = "ok\n"};
    return {.status = 503, .type = kPlain, .body = absl::StrCat("not ready: ", trouble, "\n")};
  }
  return {.status = 404, .type = kPlain, .body = "there are /metrics, /healthz and /readyz\n"};
}

absl::StatusOr<std::unique_ptr<web::HttpServer>> start_monitor(const std::string& address, Monitored monitored) {
  auto listener = web::Listener::bind(address, web::kMetrics);
  if (!listener.ok()) return listener.status();
  log::info(absl::StrCat("metrics are at http://", listener->address(), "/metrics"));
  return web::HttpServer::start(*std::move(listener), [monitored = std::move(monitored)](const web::Request& request) {
    return answer_monitor(monitored, request);
  });
}

}  // namespace castscope::cli
