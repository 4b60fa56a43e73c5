#include "proto/loopback.h"

#include <arpa/inet.h>

#include "proto/unix_address.h"

namespace castscope::wire {

bool split_host_port(const std::string& address, std::string* host, std::string* port) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return false;
  *host = address.substr(0, colon);
  *port = address.substr(colon + 1);
  if (host->size() > 2 && host->front() == '[' && host->back() == ']') {
    *host = host->substr(1, host->size() - 2);
    return true;
  }
  return !host->empty() && host->find(':') == std::string::npos;
}

bool is_loopback(const std::string& address) {
  if (is_unix(address)) return true;
  std::string host, port;
  if (!split_host_port(address, &host, &port)) return false;
  if (host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace castscope::wire
