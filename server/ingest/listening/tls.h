// TLS of a collector, for gRPC.
#pragma once

#include <memory>

#include "server/ingest/listening/certificates.h"

namespace grpc {
class ServerCredentials;
}

namespace castscope::ingest {

// Insecure ones for null. Each connection gets the certificate that `certificates` has when it comes; they have to be
// there for as long as the server.
std::shared_ptr<grpc::ServerCredentials> credentials(const Certificates* certificates);

}  // namespace castscope::ingest
