// Where a collector may listen: loopback and Unix sockets freely, everywhere else only with TLS and a token.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/ingest/options.h"

namespace castscope::ingest {

// "localhost", 127.0.0.0/8, ::1, and Unix sockets. A name that merely resolves to loopback today is not.
bool is_loopback(const std::string& address);

// OK when the options' address may be listened on; else a sentence that says what is missing.
absl::Status check_listener(const Options& options);

// Takes the same time wherever the two differ.
bool same_token(const std::string& given, const std::string& expected);

}  // namespace castscope::ingest
