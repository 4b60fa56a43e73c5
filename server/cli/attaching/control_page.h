// The control pages of a run's processes (agent/lanes/control.h), as castscope sees them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace castscope::cli {

struct ControlState {
  pid_t pid = 0;
  std::uint32_t wanted = 0, state = 0;  // castscope_wanted, castscope_control_state
  std::uint32_t deep_asked = 0, deep_begun = 0, deep_first = 0, spans = 0;
  bool watches() const;
  bool is_away() const;
  bool wants_to_watch() const;
  bool refuses() const;   // it cannot be watched
  bool holds_on() const;  // it is watched, and does not let go
};

// A page is read and written as a file: one that is cut short is an error then, not a SIGBUS.
class ControlPage {
 public:
  // The pages of this run directory's processes that live; of one process, where `pid` is not 0.
  static std::vector<ControlPage> all(const std::string& directory, pid_t pid = 0);
  // The page that a process has left, or still has.
  static std::optional<ControlState> left_by(const std::string& directory, pid_t pid);
  ~ControlPage();
  ControlPage(ControlPage&& other) noexcept;
  ControlPage& operator=(ControlPage&&) = delete;

  std::optional<ControlState> read() const;
  bool want(std::uint32_t wanted) const;
  bool want_deep_steps(std::uint32_t more) const;

 private:
  static ControlPage open_of(const std::string& directory, pid_t pid);
  ControlPage(pid_t pid, int descriptor) : pid_(pid), descriptor_(descriptor) {}
  bool write(std::size_t offset, std::uint32_t word) const;
  pid_t pid_;
  int descriptor_;
};

// One line of text for each state, and back; nullopt for anything else.
std::string line_of(const ControlState& state);
std::optional<ControlState> state_of(const std::string& line);

}  // namespace castscope::cli
