// The files of TLS, in the form PEM, which people give to either end: reads them, and says what is wrong with them
// before gRPC fails without a reason.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace castscope::wire {

// Returns the text of a file with at least one certificate, and with none that is damaged: a server's own and what
// belongs to it, or those of authorities. Neither of the two waits for anything, such as for whoever writes to a pipe.
absl::StatusOr<std::string> read_certificates(const std::string& file);

// Returns the text of the file with the key of the certificate in `certificates`, which is a text of
// read_certificates(certificate_file).
absl::StatusOr<std::string> read_key(const std::string& file, const std::string& certificates,
                                     const std::string& certificate_file);

}  // namespace castscope::wire
