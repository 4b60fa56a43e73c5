#include "server/report/findings/fingerprint.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <map>

#include "absl/strings/ascii.h"
#include "agent/hash/fnv1a.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/places/places.h"
#include "server/store/run/names.h"
#include "server/utf8/utf8.h"

namespace castscope::report {
namespace {

std::uint64_t hash(std::string_view text) { return castscope_fnv1a(CASTSCOPE_FNV1A_START, text.data(), text.size()); }

std::string place_of(const store::CodeLocation& at, const store::SourceLines& source, std::string_view project) {
  const std::optional<std::string_view> text = source.line(at.file, at.line);
  return portable_path(at.file, project) + '\0' + at.function + '\0' +
         (text ? normalised(*text) : "line " + std::to_string(at.line));
}

// Parts end with a zero byte, so that none runs into the next.
std::string identity(const store::Finding& finding, const store::SourceLines& source, std::string_view project) {
  std::string parts = finding.rule + '\0';
  if (!finding.location) return parts;
  return parts + place_of(*finding.location, source, project);
}

// The digits, and a count from 1 among those alike.
class Prints {
 public:
  std::string of(const std::string& identity) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016" PRIx64, hash(identity));
    return std::string(digits) + ":" + std::to_string(++seen_[digits]);
  }

 private:
  std::map<std::string, int> seen_;
};

std::string identity(const store::RunData& run, const store::Site& site) {
  const store::CallSite at = site.call_site == 0 ? store::CallSite() : run.call_sites[site.call_site];
  const auto location = run.user_location(site.stack);
  std::string parts(store::name(site.cause));
  parts += '\0' + (location ? place_of(*location, run.source, run.start.project()) : std::string());
  const std::string position = at.argument == lanes::kUnknownArgument ? "" : std::to_string(at.argument);
  for (const std::string_view part :
       {std::string_view(site.op), std::string_view(at.argument_name.empty() ? position : at.argument_name),
        store::dtype_name(site.from), store::dtype_name(site.to), store::name(site.role), store::name(site.phase)})
    parts.append(1, '\0').append(part);
  return parts;
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
  Prints prints;
  std::vector<std::string> all;
  for (const store::Finding& finding : findings) all.push_back(prints.of(identity(finding, source, project)));
  return all;
}

std::vector<std::string> site_fingerprints(const store::RunData& run, std::span<const store::SiteId> sites) {
  Prints prints;
  std::vector<std::string> all;
  for (const store::SiteId site : sites) all.push_back(prints.of(identity(run, run.sites[site])));
  return all;
}

}  // namespace castscope::report
