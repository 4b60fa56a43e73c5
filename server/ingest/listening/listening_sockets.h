// The sockets on which the collector listens: one for each address that a name stands for, or that of a file.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace castscope::ingest {

class ListeningSockets {
 public:
  // `address` has passed check_listener(). A socket's file that an earlier collector left behind is replaced; one on
  // which somebody listens is not.
  static absl::StatusOr<ListeningSockets> open(const std::string& address);
  ListeningSockets(ListeningSockets&&) noexcept;
  ListeningSockets& operator=(ListeningSockets&&) = delete;
  ~ListeningSockets();  // closes them, and removes the socket's file

  const std::vector<int>& sockets() const { return sockets_; }
  // With the real port where port 0 was asked for.
  const std::string& address() const { return address_; }

 private:
  ListeningSockets() = default;
  absl::Status open_file(const std::string& address);
  absl::Status open_host(const std::string& address);

  std::vector<int> sockets_;
  std::string address_;
  std::string file_;  // of a Unix socket; "" = none
};

}  // namespace castscope::ingest
