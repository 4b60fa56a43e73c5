// A token goes to the collector that its user gave it for. The files that say where a run goes, spools and run.json,
// say that without a user, and whoever could write there once could name a collector of his own, with authorities of
// his own. So whoever sends with a token leaves a proof beside the destination that only the token can make.
#pragma once

#include <string>

#include "server/relay/sending/spool.h"

namespace castscope::cli {

// Returns HMAC-SHA256 of the destination, in hexadecimal, with the token as its key; "" without a token.
std::string proof_of(const std::string& token, const relay::Destination& whereto);

// Whether this token was given for this destination.
bool is_proof(const std::string& proof, const std::string& token, const relay::Destination& whereto);

}  // namespace castscope::cli
