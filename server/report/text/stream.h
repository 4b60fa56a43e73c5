// Writes many small pieces of text into a stream. They are gathered first, since an ostream's own formatting takes
// longer than everything else.
#pragma once

#include <charconv>
#include <concepts>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace castscope::report {

class Stream {
 public:
  explicit Stream(std::ostream& out) : out_(out) { buffer_.reserve(kFull + 4096); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Stream& operator<<(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kFull) flush();
    return *this;
  }
  Stream& operator<<(const char* text) { return *this << std::string_view(text); }
  Stream& operator<<(const std::string& text) { return *this << std::string_view(text); }
  Stream& operator<<(char c) {
    buffer_ += c;
    return *this;
  }
  template <typename Number>
  requires std::integral<Number> || std::floating_point<Number> Stream& operator<<(Number number) {
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof digits, number);
    buffer_.append(digits, end.ptr);
    return *this;
  }
  absl::Status status() const {
    return out_ ? absl::OkStatus() : absl::UnavailableError("the output cannot be written: check the disk for space");
  }
  absl::Status finish() {
    flush();
    out_.flush();
    return status();
  }

 private:
  static constexpr std::size_t kFull = 1 << 16;
  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }
  std::ostream& out_;
  std::string buffer_;
};

}  // namespace castscope::report
