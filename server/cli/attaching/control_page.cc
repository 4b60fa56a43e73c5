#include "server/cli/attaching/control_page.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <ctime>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/lanes/control.h"
#include "server/cli/job/proc.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

// A process that is younger than its page is another one with the same number. Two seconds allow for the clocks'
// resolution.
bool belongs_to_living(pid_t pid, int descriptor) {
  struct stat info;
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid()) return false;
  const double age = process_age(pid);
  return age >= 0 && start_ticks(pid) != 0 && age > std::difftime(std::time(nullptr), info.st_mtime) - 2;
}

std::vector<pid_t> numbers_in(const std::string& directory) {
  std::vector<pid_t> result;
  std::error_code error;
  for (fs::directory_iterator at(directory, error); !error && at != fs::directory_iterator(); at.increment(error)) {
    int pid = 0;
    if (at->path().extension() == ".control" && absl::SimpleAtoi(at->path().stem().string(), &pid) && pid > 0)
      result.push_back(pid);
  }
  return result;
}

}  // namespace

bool ControlState::watches() const { return state == CASTSCOPE_CONTROL_WATCHES || state == CASTSCOPE_CONTROL_HOLDS; }
bool ControlState::is_away() const { return state == CASTSCOPE_CONTROL_ARMED; }
bool ControlState::wants_to_watch() const {
  return wanted == CASTSCOPE_WANTED_AT_REGION || wanted == CASTSCOPE_WANTED_AT_ONCE;
}

bool ControlState::refuses() const { return state == CASTSCOPE_CONTROL_REFUSES; }
bool ControlState::holds_on() const { return state == CASTSCOPE_CONTROL_HOLDS; }

std::vector<ControlPage> ControlPage::all(const std::string& directory, pid_t pid) {
  std::vector<ControlPage> result;
  for (const pid_t one : pid != 0 ? std::vector<pid_t>{pid} : numbers_in(directory)) {
    ControlPage page = open_of(directory, one);
    if (belongs_to_living(one, page.descriptor_) && page.read().has_value()) result.push_back(std::move(page));
  }
  return result;
}

std::optional<ControlState> ControlPage::left_by(const std::string& directory, pid_t pid) {
  return open_of(directory, pid).read();
}

// Without a page its descriptor is -1, and there is nothing to be read.
ControlPage ControlPage::open_of(const std::string& directory, pid_t pid) {
  const std::string path = absl::StrCat(directory, "/", pid, ".control");
  return {pid, open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
}

ControlPage::ControlPage(ControlPage&& other) noexcept
    : pid_(other.pid_), descriptor_(std::exchange(other.descriptor_, -1)) {}
ControlPage::~ControlPage() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<ControlState> ControlPage::read() const {
  castscope_control page{};
  if (pread(descriptor_, &page, sizeof page, 0) != sizeof page || page.magic != CASTSCOPE_CONTROL_MAGIC)
    return std::nullopt;
  return ControlState{.pid = pid_,
                      .wanted = page.wanted,
                      .state = page.state,
                      .deep_asked = page.deep_asked,
                      .deep_begun = page.deep_begun,
                      .deep_first = page.deep_first,
                      .spans = page.spans};
}

bool ControlPage::write(std::size_t offset, std::uint32_t word) const {
  return pwrite(descriptor_, &word, sizeof word, static_cast<off_t>(offset)) == sizeof word;
}
bool ControlPage::want(std::uint32_t wanted) const { return write(offsetof(castscope_control, wanted), wanted); }
bool ControlPage::want_deep_steps(std::uint32_t more) const {
  const auto now = read();
  return now.has_value() && write(offsetof(castscope_control, deep_asked), now->deep_asked + more);
}

std::string line_of(const ControlState& s) {
  return absl::StrCat(s.pid, " ", s.wanted, " ", s.state, " ", s.deep_asked, " ", s.deep_begun, " ", s.deep_first, " ",
                      s.spans);
}

std::optional<ControlState> state_of(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  ControlState s;
  const bool good = words.size() == 7 && absl::SimpleAtoi(words[0], &s.pid) && absl::SimpleAtoi(words[1], &s.wanted) &&
                    absl::SimpleAtoi(words[2], &s.state) && absl::SimpleAtoi(words[3], &s.deep_asked) &&
                    absl::SimpleAtoi(words[4], &s.deep_begun) && absl::SimpleAtoi(words[5], &s.deep_first) &&
                    absl::SimpleAtoi(words[6], &s.spans);
  return good ? std::optional(s) : std::nullopt;
}

}  // namespace castscope::cli
