// The files of TLS, in the form PEM, which people give to either end: reads them, and says what is wrong with them
// before gRPC fails without a reason.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace castscope::wire {

// Returns the text of a file with at least one certificate: a server's own, or those of authorities.
absl::StatusOr<std::string> read_certificates(const std::string& file);

// Returns the text of the file with the key of the certificate in `certificates`, which is a text of
// read_certificates(certificate_file).
absl::StatusOr<std::string> read_key(const std::string& file, const std::string& certificates,
                                     const std::string& certificate_file);

}  // namespace castscope::wire
