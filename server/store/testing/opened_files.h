// For tests of what reads many run files: which of a folder were opened.
#pragma once

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string_view>

namespace castscope::store {

// The run files of a folder that were opened.
class OpenedFiles {
 public:
  explicit OpenedFiles(const std::filesystem::path& folder) { inotify_add_watch(fd_, folder.c_str(), IN_OPEN); }
  ~OpenedFiles() { close(fd_); }
  int count() const {
    alignas(inotify_event) std::array<char, 1 << 14> events{};
    const ssize_t length = ::read(fd_, events.data(), events.size());
    int opened = 0;
    for (ssize_t at = 0; at < length;) {
      const auto* const event = reinterpret_cast<const inotify_event*>(events.data() + at);
      opened += event->len > 0 && std::string_view(event->name).ends_with(".castscope") ? 1 : 0;
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
    return opened;
  }

 private:
  const int fd_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
};

}  // namespace castscope::store
