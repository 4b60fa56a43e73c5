#include "server/report/compare/comparable.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/text/words.h"

namespace castscope::report {
namespace {

std::string file_of(const store::Finding& finding, const Account& account) {
  return finding.location ? portable_path(finding.location->file, account.project) : std::string();
}

std::set<std::string> files_of(const Account& account) {
  std::set<std::string> files;
  for (const AccountSite& site : account.sites) files.insert(site.file);
  for (const store::Finding& finding : account.findings) files.insert(file_of(finding, account));
  files.erase("");
  return files;
}

void go_by_number(const std::set<std::string>& files, Account& account) {
  for (AccountSite& site : account.sites)
    if (site.line > 0 && files.contains(site.file)) site.text = absl::StrCat("line ", site.line);
  std::vector<store::Finding> findings;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < account.findings.size(); ++i) {
    if (!files.contains(file_of(account.findings[i], account))) continue;
    findings.push_back(account.findings[i]);
    places.push_back(i);
  }
  const std::vector<std::string> prints = fingerprints(findings, store::SourceLines(), account.project);
  for (std::size_t i = 0; i < places.size(); ++i) account.fingerprints[places[i]] = prints[i];
}

}  // namespace

std::optional<std::string> Comparable::sentence() const {
  if (by_number.empty()) return std::nullopt;
  const std::size_t more = by_number.size() - 1;
  return absl::StrCat("the source text of ", on_one_line(*by_number.begin()),
                      more == 0 ? "" : absl::StrCat(" and of ", counted(more, "other file", "other files")),
                      " is known in one of the two runs only, so lines were compared by their numbers there: one that "
                      "moved is called new, and gone");
}

Comparable comparable(const Account& before, const Account& after) {
  Comparable two{.before = before, .after = after, .by_number = {}};
  const std::set<std::string> there = files_of(after);
  for (const std::string& file : files_of(before))
    if (there.contains(file) && before.files_with_text.contains(file) != after.files_with_text.contains(file))
      two.by_number.insert(file);
  if (two.by_number.empty()) return two;
  go_by_number(two.by_number, two.before);
  go_by_number(two.by_number, two.after);
  return two;
}

std::vector<InOther> in_other(const Account& account, const Account& other) {
  const std::set<std::string> there(other.fingerprints.begin(), other.fingerprints.end());
  std::vector<InOther> all;
  for (std::size_t i = 0; i < account.findings.size(); ++i)
    all.push_back(there.contains(account.fingerprints[i])           ? InOther::kThere
                  : could_find(other, account, account.findings[i]) ? InOther::kNotThere
                                                                    : InOther::kMaybeMissed);
  return all;
}

}  // namespace castscope::report
