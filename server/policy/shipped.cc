#include "server/policy/shipped.h"

#include <algorithm>

// cmake/EmbedSources.cmake writes these into an assembler file: name, begin and end of each file, ended by a null.
extern "C" {
struct castscope_shipped_policy {
  const char* path;
  const char* begin;
  const char* end;
};
extern const castscope_shipped_policy castscope_shipped_policies[];
}

namespace castscope::policy {
namespace {

constexpr std::string_view kFolder = "policies/", kSuffix = ".json", kSchema = "policy.schema";

// Returns "torch-cpu" for "policies/torch-cpu.json"; "" when it is not a policy.
std::string_view name_of(std::string_view path) {
  if (!path.starts_with(kFolder) || !path.ends_with(kSuffix)) return "";
  const std::string_view name = path.substr(kFolder.size(), path.size() - kFolder.size() - kSuffix.size());
  return name == kSchema ? "" : name;
}

std::string_view text_of(const castscope_shipped_policy& file) {
  return {file.begin, static_cast<std::size_t>(file.end - file.begin)};
}

std::string_view shipped_text(std::string_view path) {
  for (const auto* file = castscope_shipped_policies; file->path != nullptr; ++file) {
    if (file->path == path) return text_of(*file);
  }
  return "";
}

}  // namespace

std::optional<std::string_view> shipped_policy(std::string_view name) {
  for (const auto* file = castscope_shipped_policies; file->path != nullptr; ++file) {
    if (!name.empty() && name_of(file->path) == name) return text_of(*file);
  }
  return std::nullopt;
}

std::vector<std::string_view> shipped_names() {
  std::vector<std::string_view> names;
  for (const auto* file = castscope_shipped_policies; file->path != nullptr; ++file) {
    if (const std::string_view name = name_of(file->path); !name.empty()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string_view shipped_operators() { return shipped_text("policies/operators.txt"); }
std::string_view shipped_functions() { return shipped_text("policies/functions.txt"); }

}  // namespace castscope::policy
