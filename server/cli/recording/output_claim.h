// Tells every other castscope of this user that an output is being written, for as long as this object or its process
// lives. The files alone cannot show that: at first there are none, and with --force existing ones do not count.
#pragma once

#include <string>

namespace castscope::cli {

class OutputClaim {
 public:
  OutputClaim() = default;
  OutputClaim(const OutputClaim&) = delete;
  OutputClaim& operator=(const OutputClaim&) = delete;
  ~OutputClaim() { release(); }

  // Returns false if another castscope has the claim. Where no claims are possible at all, it returns true.
  bool take(const std::string& stem);
  void release();

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace castscope::cli
