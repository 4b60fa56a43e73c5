// Says to every other castscope of this user that an output is being written, for as long as this object lives or its
// process does. The files alone cannot tell: at first there is none, and with --force it does not matter.
#pragma once

#include <string>

namespace castscope::cli {

class OutputClaim {
 public:
  OutputClaim() = default;
  OutputClaim(const OutputClaim&) = delete;
  OutputClaim& operator=(const OutputClaim&) = delete;
  ~OutputClaim() { release(); }

  // False: somebody else has it. Where no claim can be made at all, everybody has his own way.
  bool take(const std::string& stem);
  void release();

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace castscope::cli
