#include "server/judging/source_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "server/redaction/redaction.h"
#include "server/rules/judgement.h"
#include "server/utf8/utf8.h"

namespace castscope::judging {
namespace {

using store::SourceFile;
using store::SourceState;

using Wanted = std::map<std::string, std::set<std::int64_t>>;  // file → lines

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

// Reads the whole text of an ordinary file that is as old as the run; returns why not if it cannot. Never waits:
// O_NONBLOCK handles pipes and devices, and a file without a size (those of /proc) is not read.
SourceState read_text(const std::string& path, std::int64_t run_begin_ns, std::size_t most, std::string& text) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.number() < 0) return errno == ENOENT || errno == ENOTDIR ? SourceState::kGone : SourceState::kUnreadable;
  struct stat about {};
  if (fstat(file.number(), &about) != 0) return SourceState::kUnreadable;
  if (!S_ISREG(about.st_mode)) return SourceState::kNotText;
  // A file that mv or cp -p put there may be older than the run, but its change time is not.
  if (std::max(nanoseconds(about.st_mtim), nanoseconds(about.st_ctim)) > run_begin_ns) return SourceState::kChanged;
  if (static_cast<std::uint64_t>(about.st_size) > most) return SourceState::kTooLarge;
  text.resize(static_cast<std::size_t>(about.st_size));
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = read(file.number(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SourceState::kUnreadable;
    if (got == 0) return SourceState::kChanged;  // the file has become shorter
    have += static_cast<std::size_t>(got);
  }
  return text.find('\0') == std::string::npos ? SourceState::kKept : SourceState::kNotText;
}

SourceState text_of(const store::RunData& run, const std::string& file, const SourceLimits& limits, std::string& text) {
  const std::string path = file.front() == '/' ? file : run.start.cwd + "/" + file, other = utf8::bytes_of_name(path);
  const SourceState state = read_text(path, run.start.start_ns, limits.file_bytes, text);
  if (state != SourceState::kGone || other == path) return state;
  return read_text(other, run.start.start_ns, limits.file_bytes, text);
}

// Lines end where Python ends them: also at a lone \r, and not at form feeds or other Unicode separators.
void each_line(std::string_view text, const std::function<void(std::int64_t, std::string_view)>& take) {
  std::int64_t number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    take(number, text.substr(at, end - at));
    at = end + (text.substr(end).starts_with("\r\n") ? 2 : 1);
  }
}

// Cuts a line to at most so many bytes, without half of a UTF-8 character. A comment that silences findings is kept,
// wherever it stands.
std::string cut(std::string_view line, std::size_t most) {
  if (line.size() <= most) return std::string(line);
  const std::string_view comment = rules::directive_comment(line);
  const std::size_t end = utf8::cut(line, std::min(most, line.size() - comment.size()));
  std::string text = std::string(line.substr(0, end)) + "…";
  if (comment.empty()) return text;
  // Quotes are removed: the cut may have left a string open.
  const std::string_view said = comment.substr(0, comment.find_first_of("'\""));
  return text + "  " + (said.size() <= most ? std::string(said) : cut(std::string(said.substr(0, most)), most));
}

// Code that was typed in, or that Python generated, has no file.
bool has_file(const std::string& name) { return !name.empty() && name.front() != '<'; }

class Reader {
 public:
  Reader(const store::RunData& run, const SourceLimits& limits, const ShownLine& shown)
      : run_(run), limits_(limits), shown_(shown) {}

  void take(const Wanted& wanted) {
    for (const auto& [name, numbers] : wanted) {
      if (room() == 0) return;
      SourceFile file;
      if (const SourceFile* const before = source_.file(name)) file = *before;
      file.file = name;
      take_lines(numbers, file);
      source_.add(std::move(file));
    }
  }
  store::SourceLines result() { return std::move(source_); }

 private:
  std::size_t room() const { return limits_.total_bytes - std::min(limits_.total_bytes, taken_); }

  void take_lines(const std::set<std::int64_t>& numbers, SourceFile& file) {
    if (file.state != SourceState::kKept) return;
    std::string text;
    file.state = text_of(run_, file.file, limits_, text);
    if (file.state != SourceState::kKept) return;
    each_line(text, [&](std::int64_t number, std::string_view line) {
      if (!numbers.contains(number) || file.lines.contains(number)) return;
      std::string shown = cut(shown_(line), limits_.line_bytes);
      if (shown.size() > room()) return;
      taken_ += shown.size();
      file.lines[number] = std::move(shown);
    });
  }

  const store::RunData& run_;
  const SourceLimits limits_;
  const ShownLine& shown_;
  store::SourceLines source_;
  std::size_t taken_ = 0;
};

void want(Wanted& wanted, const std::optional<store::CodeLocation>& at, int context) {
  if (!at || !has_file(at->file)) return;
  for (std::int64_t line = at->line - context; line <= at->line + context; ++line) {
    if (line > 0) wanted[at->file].insert(line);
  }
}

}  // namespace

std::string without_secrets(std::string_view line) {
  static redaction::Redaction& secrets = *new redaction::Redaction;
  return secrets.source(line);
}

store::SourceLines read_source(const store::RunData& run, std::span<const rules::Finding> findings,
                               const SourceLimits& limits, const ShownLine& shown) {
  if (run.start.source_withheld == "all") return {};
  Wanted of_findings, of_places;
  for (const rules::Finding& finding : findings) {
    want(of_findings, finding.location, limits.context);
    for (const store::CodeLocation& at : finding.related) want(of_findings, at, limits.context);
  }
  for (const store::Site& site : run.sites) want(of_places, run.user_location(site.stack), 0);
  for (const store::Region& region : run.regions) want(of_places, run.user_location(region.stack), 0);
  Reader reader(run, limits, shown);
  reader.take(of_findings);
  reader.take(of_places);
  return reader.result();
}

store::SourceFile read_whole(const store::RunData& run, const std::string& file, const SourceLimits& limits) {
  SourceFile whole{.file = file, .state = SourceState::kGone, .lines = {}};
  if (!has_file(file) || !run.start.source_withheld.empty()) return whole;
  std::string text;
  whole.state = text_of(run, file, limits, text);
  if (whole.state != SourceState::kKept) return whole;
  each_line(text, [&](std::int64_t number, std::string_view line) {
    whole.lines[number] = cut(without_secrets(line), limits.line_bytes);
  });
  return whole;
}

}  // namespace castscope::judging
