#include "server/store/run/source_lines.h"

#include <array>

namespace castscope::store {

std::string_view name(SourceState state) {
  constexpr std::array<std::string_view, 6> kNames = {"kept", "changed", "gone", "unreadable", "not_text", "too_large"};
  const auto at = static_cast<std::size_t>(state);
  return at < kNames.size() ? kNames[at] : "unknown";
}

std::optional<std::string_view> SourceLines::line(std::string_view file_name, std::int64_t number) const {
  const SourceFile* const found = file(file_name);
  if (found == nullptr) return std::nullopt;
  const auto it = found->lines.find(number);
  if (it == found->lines.end()) return std::nullopt;
  return it->second;
}

const SourceFile* SourceLines::file(std::string_view name) const {
  const auto it = files_.find(name);
  return it == files_.end() ? nullptr : &it->second;
}

void SourceLines::add(SourceFile file) { files_[file.file] = std::move(file); }

}  // namespace castscope::store
