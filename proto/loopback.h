// Which addresses of a collector no other machine can listen on or look into: nothing that goes there needs TLS.
#pragma once

#include <string>

namespace castscope::wire {

// Accepts "localhost", 127.0.0.0/8, ::1 and Unix sockets. A name that merely resolves to loopback today is not
// accepted.
bool is_loopback(const std::string& address);

// Splits "host:port" and "[host]:port". Returns false for other forms.
bool split_host_port(const std::string& address, std::string* host, std::string* port);

}  // namespace castscope::wire
