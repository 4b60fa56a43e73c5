// What is embedded in castscope: the agent's sources, the Python package, and what it carries ready-made.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace castscope::cli {

struct EmbeddedFile {
  std::string_view path;  // relative to the repository root
  std::string_view content;
};

std::span<const EmbeddedFile> embedded_files();

// Returns libcastscope.so or castscope-trivial.
std::string_view carried(std::string_view name);

// Whether the file is there and has this content.
bool holds(const std::string& path, std::string_view content);

// Writes a source; a file that has this content is left alone. Several processes may write the same one.
absl::Status write_source(const std::string& path, std::string_view content);
// Writes all of them under `folder`.
absl::Status extract_sources(const std::string& folder);

}  // namespace castscope::cli
