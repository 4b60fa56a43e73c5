// /metrics, /healthz and /readyz of a collector, for Prometheus and whoever restarts it. They tell nothing of any run.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/web/http/http_server.h"

namespace castscope::cli {

struct Monitored {
  std::function<std::string()> metrics;  // the text of /metrics
  std::function<std::string()> trouble;  // why no run can be taken now; "" = they can
};

// The answer to a request: 200, 503 or 404.
web::Response answer_monitor(const Monitored& monitored, const web::Request& request);

// Answers on this address of this machine. The functions are called from any thread until the server is stopped.
absl::StatusOr<std::unique_ptr<web::HttpServer>> start_monitor(const std::string& address, Monitored monitored);

}  // namespace castscope::cli
