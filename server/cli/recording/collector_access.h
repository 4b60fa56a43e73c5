// What castscope needs to send a run to a collector: its address, the token, TLS.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/relay/sending/connect.h"
#include "server/relay/sending/spool.h"

namespace castscope::cli {

struct CollectorAddress {
  std::string address;  // "" = collect here, into `output`
  std::string token;
  std::string token_file = {};  // whose first line is the token; "" = none
  relay::Tls tls;
  bool is_ours = false;  // the token is the one that we ask senders for
};

// Fills in what is not given: the token of the file, or of CASTSCOPE_TOKEN_FILE; the authorities of CASTSCOPE_CA, the
// certificate and key of CASTSCOPE_CERT and CASTSCOPE_KEY; and TLS, without which nothing is sent to another machine,
// also where an error is returned. A token for a Unix socket whose place others may take is an error, too. Paths are
// absolute afterwards.
absl::Status complete(CollectorAddress& collector);

// Returns the proof that castscope writes into run.json, by which `castscope recover` gives the token to this collector
// alone; "" without a token.
std::string token_proof_of(const CollectorAddress& collector);

// Returns the destination that castscope writes into a spool, with a proof made by the token that is in force now.
relay::Destination destination_of(const CollectorAddress& collector);

// For a destination that a file names, and no user: takes the token out where whoever wrote the file sent without one,
// and fails where he had another, which may be a token for somebody else.
absl::Status keep_token_from_others(CollectorAddress& collector, const relay::Destination& whereto);

// Returns the first line of a file that nobody else may read, nor, if it `lets_in` who sends that token, replace.
absl::StatusOr<std::string> read_token_file(const std::string& path, bool lets_in = false);

}  // namespace castscope::cli
