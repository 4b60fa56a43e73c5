#include "server/cli/commands/watches.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/job/proc.h"
#include "server/relay/sending/tls_probe.h"

namespace castscope::cli {

using std::chrono::milliseconds;

Watch::Watch(milliseconds interval, std::function<bool()> look)
    : thread_([this, interval, look = std::move(look)] {
        std::unique_lock lock(mutex_);
        while (!wake_.wait_for(lock, interval, [this] { return stopped_; }) && look()) continue;
      }) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

ProgressLine::ProgressLine(Recording& recording, bool wanted) : recording_(recording), folder_(working_folder()) {
  if (!wanted) return;
  watch_ = std::make_unique<Watch>(milliseconds(500), [this] {
    for (const store::Finding& finding : recording_.new_findings()) {
      draw("");
      say(absl::StrCat("found: ", one_line(one_line_of(finding, folder_), 400)));
    }
    const relay::Progress now = recording_.relay().progress();
    draw(absl::StrCat("castscope: ", now.processes, now.processes == 1 ? " process, " : " processes, ", now.casts,
                      " casts, ", now.hits, " cache hits, ", now.events, " events",
                      now.dropped > 0 ? absl::StrCat(", ", now.dropped, " dropped") : ""));
    return true;
  });
}

ProgressLine::~ProgressLine() {
  if (watch_ == nullptr) return;
  watch_.reset();
  draw("");
}

// The line is cut to the terminal's width: a wrapped line would scroll.
void ProgressLine::draw(const std::string& text) {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  const std::string line = text.substr(0, known ? size.ws_col - 1u : text.size());
  const std::size_t blanks = drawn_ > line.size() ? drawn_ - line.size() : 0;  // not every terminal has codes for that
  tell(absl::StrCat("\r", line, std::string(blanks, ' '), "\r", line));
  drawn_ = line.size();
}

CollectorWatch::CollectorWatch(relay::Relay& relay, const CollectorAddress& collector)
    : relay_(relay), collector_(collector) {
  if (!collector.address.empty()) watch_ = std::make_unique<Watch>(milliseconds(100), [this] { return look(); });
}

std::string CollectorWatch::trouble() {
  const std::string trouble = relay_.trouble();
  const std::string of_tls = relay::what_is_wrong_with_tls(collector_.address, collector_.tls, trouble);
  return of_tls.empty() ? trouble : of_tls;
}

bool CollectorWatch::look() {
  constexpr int kLooksBeforeWeSay = 10;  // a second: a collector may be starting
  const bool in_trouble = !relay_.trouble().empty();
  in_trouble_ = in_trouble ? in_trouble_ + 1 : 0;
  if (!said_ && in_trouble_ == kLooksBeforeWeSay) {
    say(absl::StrCat("the run does not reach the collector at ", collector_.address, " (", trouble(),
                     "); the job goes on, and what it does is kept for as long as there is room"));
    said_ = true;
  } else if (said_ && !in_trouble) {
    say(absl::StrCat("the run reaches the collector at ", collector_.address, " now"));
    return false;
  }
  return true;
}

std::unique_ptr<Watch> say_when_late(const std::string& sentence) {
  if (isatty(STDERR_FILENO) == 0) return nullptr;
  return std::make_unique<Watch>(milliseconds(1000), [sentence] {
    say(sentence);
    return false;
  });
}

std::unique_ptr<Watch> say_while_it_lasts(std::function<std::string()> how_far) {
  if (isatty(STDERR_FILENO) == 0) return nullptr;
  constexpr milliseconds kFirst{2000};
  return std::make_unique<Watch>(kFirst, [how_far = std::move(how_far), looks = 0u]() mutable {
    if (std::has_single_bit(++looks)) say(how_far());
    return true;
  });
}

}  // namespace castscope::cli
