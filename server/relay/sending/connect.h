// Makes the channel to a collector on another machine or in another process.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace grpc {
class Channel;
}

namespace castscope::relay {

// TLS 1.3 in the program (proto/tls_version.cc).
struct Tls {
  bool use = false;
  std::string root_certificate_file = {};  // "" = the system's
  // Our own certificate and its key, where the collector asks for one; "" = none.
  std::string certificate_file = {}, key_file = {};
};

// Whether it is "host:port" or "unix:PATH"; the error is a sentence. It starts nothing.
absl::Status check_address(const std::string& address);

// Whether it is on another machine: connect() makes no connection there without TLS.
bool needs_tls(const std::string& address);

// Whether our own certificate and its key can be used, or neither is given; the error is a sentence.
absl::Status check_own_certificate(const Tls& tls);

// Makes a channel to "host:port" or "unix:PATH". Does not wait for the connection. Fails for an address that is not
// valid, for one on another machine without TLS, and for a certificate file that cannot be read.
absl::StatusOr<std::shared_ptr<grpc::Channel>> connect(const std::string& address, const Tls& tls = {});

// Opens a stream, says nothing in it and closes it again: a collector makes no run of that, but it does look at the
// token first. OK: a sender would be let in. UNAUTHENTICATED: the token is not the collector's. UNIMPLEMENTED: somebody
// else listens there. DEADLINE_EXCEEDED and UNAVAILABLE: nobody answers, and the message says why.
absl::Status knock(const std::string& address, const Tls& tls, const std::string& token,
                   std::chrono::milliseconds patience);

}  // namespace castscope::relay
