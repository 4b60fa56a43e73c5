// Says why no connection to a collector comes about. gRPC has one sentence for all that may be wrong with TLS.
#pragma once

#include <chrono>
#include <string>

#include "server/relay/sending/connect.h"

namespace castscope::relay {

// `failure` is gRPC's sentence, which holds the numeric address that it tried, or says only that a connection was
// closed. Connects there once more, each step of which takes no longer than `patience`, and returns a sentence about
// TLS if that is what is wrong, or that the connection is refused where gRPC did not say so, and "" otherwise.
// `address` is as the user gave it.
std::string what_is_wrong_with_tls(const std::string& address, const Tls& tls, const std::string& failure,
                                   std::chrono::seconds patience = std::chrono::seconds(3));

// That sentence, or `failure` where there is none.
std::string why_tls_failed(const std::string& address, const Tls& tls, const std::string& failure);

}  // namespace castscope::relay
