// The sources that are embedded in castscope: those of the preload library and the agent, and the Python package.
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

// Writes a source; a file that has this content is left alone. Several processes may write the same one.
absl::Status write_source(const std::string& path, std::string_view content);
// Writes all of them under `folder`.
absl::Status extract_sources(const std::string& folder);

}  // namespace castscope::cli
