#include "server/report/compare/comparable.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
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
  for (std::size_t i = 0; i < places.size(); ++i) {
    account.fingerprints[places[i]] = prints[i];
    if (places[i] < account.lines.size()) account.lines[places[i]].clear();
  }
}

std::set<std::string> words_of(std::string_view line) {
  std::set<std::string> words;
  std::string word;
  for (const char c : line) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_')
      word += c;
    else if (!word.empty())
      words.insert(std::exchange(word, ""));
  }
  if (!word.empty()) words.insert(word);
  return words;
}

// One has half of the words of the other, which is shorter: model(rows(2)) became x = rows(2) and model(x).
bool are_alike(const std::set<std::string>& a, const std::set<std::string>& b) {
  const auto both = std::ranges::count_if(a, [&](const std::string& word) { return b.contains(word); });
  return both > 0 && 2 * static_cast<std::size_t>(both) >= std::min(a.size(), b.size());
}

CodePlace place_of(const Account& account, std::size_t i, const std::string& file) {
  const store::Finding& finding = account.findings[i];
  return {.file = file,
          .function = finding.location ? std::string_view(finding.location->function) : "",
          .text = i < account.lines.size() ? std::string_view(account.lines[i]) : ""};
}

// Titles tell how often something happened.
std::string without_numbers(std::string_view title) {
  std::string rest;
  for (const char c : title)
    if (c < '0' || c > '9') rest += c;
  return rest;
}

// Two findings are paired as moved only if these are equal.
using Look = std::pair<std::string, std::string>;  // rule, title
Look look_of(const store::Finding& finding) { return {finding.rule, without_numbers(finding.title)}; }

// Findings of the account that the other does not have, in their order.
std::map<Look, std::vector<std::size_t>> findings_without(const Account& account, const Account& other) {
  const std::set<std::string> there(other.fingerprints.begin(), other.fingerprints.end());
  std::map<Look, std::vector<std::size_t>> all;
  for (std::size_t i = 0; i < account.findings.size(); ++i)
    if (account.findings[i].location && !there.contains(account.fingerprints[i]))
      all[look_of(account.findings[i])].push_back(i);
  return all;
}

// The functions that a run has been in, as "file function".
std::set<std::string> functions_of(const Account& account) {
  std::set<std::string> functions;
  for (const AccountSite& site : account.sites) functions.insert(absl::StrCat(site.file, " ", site.function));
  for (const AccountPrecision& one : account.operators) functions.insert(absl::StrCat(one.file, " ", one.function));
  return functions;
}

std::string function_of(const store::Finding& finding, const std::string& file) {
  return absl::StrCat(file, " ", finding.location->function);
}

void pair_moved(Comparable& two) {
  const std::set<std::string> left_functions = functions_of(two.after);
  auto fresh = findings_without(two.after, two.before);
  for (const auto& [look, gone] : findings_without(two.before, two.after)) {
    std::vector<std::size_t>& left = fresh[look];
    for (const std::size_t i : gone) {
      const std::string file = file_of(two.before.findings[i], two.before);
      const auto found = std::ranges::find_if(left, [&](std::size_t j) {
        const std::string there = file_of(two.after.findings[j], two.after);
        const std::string was = function_of(two.before.findings[i], file);
        // Where the old function still runs, its fault was mended, and the same in another one is new.
        if (was != function_of(two.after.findings[j], there) && left_functions.contains(was)) return false;
        return is_nearly(place_of(two.before, i, file), place_of(two.after, j, there));
      });
      if (found == left.end()) continue;
      two.moved.emplace_back(i, *found);
      left.erase(found);
    }
  }
  std::ranges::sort(two.moved);
  for (const auto& [i, j] : two.moved) two.after.fingerprints[j] = two.before.fingerprints[i];
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
  Comparable two{.before = before, .after = after, .moved = {}, .by_number = {}};
  const std::set<std::string> there = files_of(after);
  for (const std::string& file : files_of(before))
    if (there.contains(file) && before.files_with_text.contains(file) != after.files_with_text.contains(file))
      two.by_number.insert(file);
  if (!two.by_number.empty()) {
    go_by_number(two.by_number, two.before);
    go_by_number(two.by_number, two.after);
  }
  pair_moved(two);
  return two;
}

bool is_nearly(const CodePlace& a, const CodePlace& b) {
  const bool file = a.file == b.file && !a.file.empty(), function = a.function == b.function && !a.function.empty();
  if (a.text == b.text && !a.text.empty()) return file || function;
  return file && function && are_alike(words_of(a.text), words_of(b.text));
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
