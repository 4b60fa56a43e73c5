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

enum class Format {
  kJson,
  kSarif,
  kHtml,
  kMarkdown,
  kCsv,
  kLayersCsv,
  kDot,
  kPerfetto,
  kChrome,
  kSpeedscope,
  kJsonLines
};

struct FormatName {
  std::string_view name;
  Format format;
  std::string_view meaning;  // for --help
};
std::span<const FormatName> formats();
std::optional<Format> format_of(std::string_view name);

// Reads the run and writes its report: findings are judged by these settings, and events are written one after the
// other. A data loss status means that the file is damaged or cut short; anything that was written is then a whole
// document of what could be read.
absl::Status write_report(const std::string& run_file, Format, const rules::Settings&, std::ostream&);

}  // namespace castscope::report
