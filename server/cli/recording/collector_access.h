// What castscope needs to send a run to a collector: its address, the token, TLS.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/relay/connect.h"

namespace castscope::cli {

struct CollectorAddress {
  std::string address;  // "" = collect here, into `output`
  std::string token;
  std::string token_file = {};  // whose first line is the token; "" = none
  relay::Tls tls;
};

// Fills in what is not given: the token of the file, or of CASTSCOPE_TOKEN_FILE; the authorities of CASTSCOPE_CA, the
// certificate and key of CASTSCOPE_CERT and CASTSCOPE_KEY; and TLS, without which nothing is sent to another machine.
absl::Status complete(CollectorAddress& collector);

// Returns the first line of a file that nobody else may read.
absl::StatusOr<std::string> read_token_file(const std::string& path);

}  // namespace castscope::cli
