// A file that appears under its name once all of it is written. Until then it has another name in the same folder, one
// that nobody can guess and that no file had before. Two processes that write the same file do not mix.
#pragma once

#include <memory>
#include <ostream>
#include <string>

namespace castscope::cli {

class DescriptorBuffer;

class FreshFile {
 public:
  // What becomes of a special file (a pipe, /dev/null) under that name. Whoever named it wants it written, and waits
  // for the pipe's reader; elsewhere nobody meant it, and castscope waits for nobody.
  enum class Special { kReplaced, kWritten };
  explicit FreshFile(std::string path, Special special = Special::kReplaced);
  FreshFile(const FreshFile&) = delete;
  FreshFile& operator=(const FreshFile&) = delete;
  ~FreshFile();  // without keep(), the file is deleted

  bool is_open() const { return fd_ >= 0; }
  std::ostream& stream() { return *stream_; }
  bool is_empty() const;
  int error() const { return error_; }  // errno of the first failure
  // Renames the file to its final name, replacing any older file. Returns false if that fails: error() says why, and no
  // file is left.
  bool keep();

 private:
  const std::string path_;
  std::string written_;  // its name until keep(); "" if it is written directly
  int fd_ = -1, error_ = 0;
  std::unique_ptr<DescriptorBuffer> buffer_;
  std::unique_ptr<std::ostream> stream_;
};

}  // namespace castscope::cli
