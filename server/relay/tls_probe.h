// Says why no connection to a collector comes about. gRPC has one sentence for all that may be wrong with TLS.
#pragma once

#include <string>

#include "server/relay/connect.h"

namespace castscope::relay {

// `failure` is gRPC's sentence, which holds the numeric address that it tried. Connects there once more, for three
// seconds at most, and returns a sentence about TLS if that is what is wrong, "" otherwise. `address` is as the user
// gave it.
std::string what_is_wrong_with_tls(const std::string& address, const Tls& tls, const std::string& failure);

}  // namespace castscope::relay
