#include "server/report/findings/fingerprint.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <map>

#include "absl/strings/ascii.h"
#include "agent/hash/fnv1a.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/places/places.h"
#include "server/utf8/utf8.h"

namespace castscope::report {
namespace {

std::uint64_t hash(std::string_view text) { return castscope_fnv1a(CASTSCOPE_FNV1A_START, text.data(), text.size()); }

// Parts end with a zero byte, so that none runs into the next.
std::string identity(const store::Finding& finding, const store::SourceLines& source, std::string_view project) {
  std::string parts = finding.rule + '\0';
  if (!finding.location) return parts;
  const store::CodeLocation& at = *finding.location;
  const std::optional<std::string_view> text = source.line(at.file, at.line);
  parts += portable_path(at.file, project) + '\0' + at.function + '\0';
  return parts + (text ? normalised(*text) : "line " + std::to_string(at.line));
}

}  // namespace

std::string portable_path(std::string_view file, std::string_view project) {
  return rules::portable_path(file, project);
}

std::string normalised(std::string_view source_line) {
  std::string text = utf8::repaired(source_line);
  absl::RemoveExtraAsciiWhitespace(&text);
  // Programs that write JSON replace invalid UTF-8 by one replacement character or by several.
  constexpr std::string_view kReplacement = "\xef\xbf\xbd", kTwo = "\xef\xbf\xbd\xef\xbf\xbd";
  for (std::size_t at = text.find(kTwo); at != std::string::npos; at = text.find(kTwo, at))
    text.erase(at, kReplacement.size());
  return text;
}

std::vector<std::string> fingerprints(std::span<const store::Finding> findings, const store::SourceLines& source,
                                      std::string_view project) {
  std::map<std::string, int> seen;
  std::vector<std::string> all;
  for (const store::Finding& finding : findings) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016" PRIx64, hash(identity(finding, source, project)));
    all.push_back(std::string(digits) + ":" + std::to_string(++seen[digits]));
  }
  return all;
}

}  // namespace castscope::report
