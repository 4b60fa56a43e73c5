// A file that is there under its name when all of it is written, and not before: until then it has another name in the
// same folder, one that nobody can guess and that was nobody's. Two processes that write the same file do not mix.
#pragma once

#include <memory>
#include <ostream>
#include <string>

namespace castscope::cli {

class DescriptorBuffer;

class FreshFile {
 public:
  // What is no ordinary file (a pipe, /dev/null) is written as it is.
  explicit FreshFile(std::string path);
  FreshFile(const FreshFile&) = delete;
  FreshFile& operator=(const FreshFile&) = delete;
  ~FreshFile();  // without keep(), nothing is left of it

  bool is_open() const { return fd_ >= 0; }
  std::ostream& stream() { return *stream_; }
  bool is_empty() const;
  int error() const { return error_; }  // errno of what failed first
  // Gives it its name, instead of what was called so before. False: error() tells why, and nothing is left.
  bool keep();

 private:
  const std::string path_;
  std::string written_;  // where it is until keep(); "" when it is written as it is
  int fd_ = -1, error_ = 0;
  std::unique_ptr<DescriptorBuffer> buffer_;
  std::unique_ptr<std::ostream> stream_;
};

}  // namespace castscope::cli
