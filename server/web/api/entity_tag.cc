#include "server/web/api/entity_tag.h"

#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace castscope::web {
namespace {

// "4f1c.1.17.finished": which opening of the run, its judgement, its timeline's revision, its state; "" = unreadable.
std::string version_of(RunSource& run) {
  const auto snapshot = run.snapshot();
  if (!snapshot.ok()) return "";
  return absl::StrCat(run.opening(), ".", (*snapshot)->number(), ".", run.timeline()->progress().revision, ".",
                      std::string(name(run.state())), run.loaded() < 1 ? absl::StrCat(".", run.loaded()) : "");
}

std::string_view opaque(std::string_view tag) { return tag.starts_with("W/") ? tag.substr(2) : tag; }

}  // namespace

std::string tag_of(RunSource& run, RunSource* other, std::string_view question) {
  std::string version = version_of(run);
  if (other != nullptr && !version.empty()) {
    const std::string second = version_of(*other);
    version = second.empty() ? "" : absl::StrCat(version, "+", second);
  }
  // Of another question no tag is taken for this one's: what was refused then would pass for told.
  return version.empty() ? ""
                         : absl::StrCat("W/\"", version, ".", absl::Hex(std::hash<std::string_view>()(question)), "\"");
}

bool names_tag(std::string_view if_none_match, std::string_view tag) {
  for (const absl::string_view part :
       absl::StrSplit(absl::string_view(if_none_match.data(), if_none_match.size()), ',')) {
    const absl::string_view one = absl::StripAsciiWhitespace(part);
    if (opaque(std::string_view(one.data(), one.size())) == opaque(tag)) return true;
  }
  return false;
}

}  // namespace castscope::web
