// What may not leave the job's machine, and not go into a run file, is replaced by a mark before it does: secrets, and
// whatever matches the user's patterns (docs/trust.md). Functions may be called from any thread.
//
// What a pattern matched is numbered, by what it was: "[redacted]", "[redacted 2]", … So two paths that differ only in
// what was replaced stay two paths, and the same path is the same wherever it stands.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "server/redaction/secrets.h"

namespace re2 {
class RE2;
}

namespace castscope::redaction {

// What castscope says of a run in which everything is hidden. It is the one text that is not.
inline constexpr char kEverythingIsHidden[] =
    "CASTSCOPE_REDACT is not a regular expression of RE2: every text of this run was redacted";

class Redaction {
 public:
  // Without a pattern, secrets alone are replaced.
  Redaction();
  ~Redaction();
  Redaction(const Redaction&) = delete;
  Redaction& operator=(const Redaction&) = delete;
  // Takes a regular expression of RE2, which needs time in proportion to the text, whatever the pattern is.
  static absl::StatusOr<std::shared_ptr<Redaction>> of(const std::string& pattern);
  // Every text is replaced: for patterns that nobody understands.
  static std::shared_ptr<Redaction> of_everything();
  // From now on, of texts of several lines the first one is kept: messages of PyTorch's errors show code below it.
  void keep_first_lines() { first_lines_ = true; }

  // A text that castscope does not know better. The result is UTF-8. One with zero bytes is the words of a command with
  // these between them, as /proc has them: it becomes line().
  std::string text(std::string_view text);
  // A line of source, in which names like `token` are names.
  std::string source(std::string_view line);
  // The words of a command. A pattern that matches over several words hides its part of each.
  std::vector<std::string> command(const std::vector<std::string>& words);
  // The words of command() in one line, with blanks between them.
  std::string line(const std::vector<std::string>& words);

 private:
  std::string replaced(std::string_view text, std::vector<Span> spans);
  void find_patterns(std::string_view text, std::vector<Span>& spans) const;
  std::string mark(std::string_view hidden, bool numbered);

  std::unique_ptr<const re2::RE2> pattern_;  // null: there is none
  bool everything_ = false, first_lines_ = false;
  std::mutex mutex_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

// One pattern that matches whatever one of these matches; "" = there are none. Fails on the first that is no pattern.
absl::StatusOr<std::string> in_one_pattern(const std::vector<std::string>& patterns);

}  // namespace castscope::redaction
