// Decides where a collector may listen: on loopback and Unix sockets freely, everywhere else only with TLS and a token.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/ingest/listening/options.h"

namespace castscope::ingest {

// The file of a Unix socket; "" for an address without one.
std::string socket_path(const std::string& address);

// Splits "host:port" and "[host]:port". Returns false for other forms, such as a socket.
bool split_address(const std::string& address, std::string* host, std::string* port);

// Returns OK if a collector may listen on the options' address; otherwise a sentence that says what is missing.
absl::Status check_listener(const Options& options);

}  // namespace castscope::ingest
