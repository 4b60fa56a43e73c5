#include "server/web/api/entity_tag.h"

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

std::string weak(const std::string& version) { return version.empty() ? "" : absl::StrCat("W/\"", version, "\""); }

std::string_view opaque(std::string_view tag) { return tag.starts_with("W/") ? tag.substr(2) : tag; }

}  // namespace

std::string tag_of(RunSource& run) { return weak(version_of(run)); }

std::string tag_of(RunSource& run, RunSource& other) {
  const std::string one = version_of(run), two = version_of(other);
  return one.empty() || two.empty() ? "" : weak(absl::StrCat(one, "+", two));
}

bool names_tag(std::string_view if_none_match, std::string_view tag) {
  for (const absl::string_view part :
       absl::StrSplit(absl::string_view(if_none_match.data(), if_none_match.size()), ',')) {
    const absl::string_view one = absl::StripAsciiWhitespace(part);
    if (one == "*" || opaque(std::string_view(one.data(), one.size())) == opaque(tag)) return true;
  }
  return false;
}

}  // namespace castscope::web
