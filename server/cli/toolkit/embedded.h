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

// Writes the sources under `folder`; existing files with the same content are left alone.
absl::Status extract_sources(const std::string& folder);

}  // namespace castscope::cli
