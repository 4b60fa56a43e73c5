// The sources that castscope carries inside: those of the preload library and the agent, and the Python package.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace castscope::cli {

struct EmbeddedFile {
  std::string_view path;  // from the repository root
  std::string_view content;
};

std::span<const EmbeddedFile> embedded_files();

// Writes them under `folder`; files that are there already with the same content are left alone.
absl::Status extract_sources(const std::string& folder);

}  // namespace castscope::cli
