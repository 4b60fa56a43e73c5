// TLS of a collector: its certificate and key, and which clients' certificates it asks for.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "server/ingest/listening/options.h"

namespace grpc {
class ServerCredentials;
}

namespace castscope::ingest {

// Insecure ones where the options name no certificate. The files are looked at again every ten seconds, so that
// connections made after a certificate was replaced have the new one. Replace the key and the certificate by renaming:
// while the two do not belong together, the old ones stay in use.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> credentials(const Options& options);

}  // namespace castscope::ingest
