// Every form in which a run is reported: `castscope report RUN -f FORMAT`.
#pragma once

#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/rules/inquiry/settings.h"

namespace castscope::report {

enum class Format { kJson, kSarif, kHtml, kMarkdown, kCsv, kLayersCsv, kDot, kPerfetto, kChrome, kSpeedscope, kJsonLines };

struct FormatName {
  std::string_view name;
  Format format;
  std::string_view meaning;  // for --help
};
std::span<const FormatName> formats();
std::optional<Format> format_of(std::string_view name);

// Reads the run and writes it: findings by these settings, events one after the other. Data loss: the file is damaged
// or cut short, and if anything was written, it is what could be read, as a whole document.
absl::Status write_report(const std::string& run_file, Format, const rules::Settings&, std::ostream&);

}  // namespace castscope::report
