#include "server/report/findings/fingerprint.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>

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
  return parts + portable_path(at.file, project) + '\0' + at.function + '\0' + line_identity(source, at);
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

std::string line_identity(const store::SourceLines& source, const store::CodeLocation& at) {
  const std::optional<std::string_view> text = source.line(at.file, at.line);
  return text ? normalised(*text) : "line " + std::to_string(at.line);
}

std::string CountedDigits::of(std::string_view identity) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016" PRIx64, hash(identity));
  return std::string(digits) + ":" + std::to_string(++seen_[digits]);
}

std::vector<std::string> fingerprints(std::span<const store::Finding> findings, const store::SourceLines& source,
                                      std::string_view project) {
  CountedDigits digits;
  std::vector<std::string> all;
  for (const store::Finding& finding : findings) all.push_back(digits.of(identity(finding, source, project)));
  return all;
}

}  // namespace castscope::report
