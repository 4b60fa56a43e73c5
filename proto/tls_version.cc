// castscope speaks TLS 1.3 and nothing older. gRPC 1.51 has no setting for the lowest version: it asks OpenSSL for 1.2
// (src/core/tsi/ssl_transport_security.cc, tsi_set_min_and_max_tls_versions), by a macro that calls SSL_CTX_ctrl. The
// linker leads these calls here (--wrap, in the program's CMakeLists.txt).
#include <openssl/ssl.h>

extern "C" long __real_SSL_CTX_ctrl(SSL_CTX* context, int command, long number, void* pointer);

extern "C" long __wrap_SSL_CTX_ctrl(SSL_CTX* context, int command, long number, void* pointer) {
  if (command == SSL_CTRL_SET_MIN_PROTO_VERSION && number < TLS1_3_VERSION) number = TLS1_3_VERSION;
  return __real_SSL_CTX_ctrl(context, command, number, pointer);
}
