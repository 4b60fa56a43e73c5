// The source text of the lines that findings and sites name, as it was when the run ended: kept in the run file, so
// that a report never asks the disk. What was changed since the run began is not kept, and is told.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace castscope::store {

enum class SourceState : std::uint8_t {
  kKept = 0,
  kChanged = 1,     // written to since the run began: the lines may have moved
  kGone = 2,        // there is no such file, or it has no such line
  kUnreadable = 3,  // no right to read it
  kNotText = 4,     // not an ordinary file, or one that holds bytes which are not text
  kTooLarge = 5,
};
std::string_view name(SourceState);  // "kept", "changed", "gone", "unreadable", "not_text", "too_large"

struct SourceFile {
  std::string file;  // as frames name it
  SourceState state = SourceState::kKept;
  std::map<std::int64_t, std::string> lines;  // number → text without its end; long ones are cut
};

// All files of a run. Lookups of what is not there say so, and cost little.
class SourceLines {
 public:
  // The text of a line, spaces in front and all; nothing when it is not kept.
  std::optional<std::string_view> line(std::string_view file, std::int64_t number) const;
  const SourceFile* file(std::string_view name) const;  // nullptr: nothing of it was asked for
  void add(SourceFile);                                 // instead of one of the same name
  const std::map<std::string, SourceFile, std::less<>>& files() const { return files_; }

 private:
  std::map<std::string, SourceFile, std::less<>> files_;
};

}  // namespace castscope::store
