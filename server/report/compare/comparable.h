// Two accounts are held against each other by their code: sites and findings are the same where file, function and
// the text of the line are. A run that came over the network knows no text, nor does one of a file that changed while
// it ran. Then the numbers of the lines are all that both know.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/report/compare/account.h"

namespace castscope::report {

struct Comparable {
  // The accounts as they were given, except for the files in `by_number`, and for moved findings. In those files lines
  // are known by their numbers, in `text` of the sites and in the fingerprints of findings. A finding that moved has
  // the fingerprint that it had before.
  Account before, after;
  // Findings that stand at another place now (is_nearly), with the same title. Index in `before`, index in `after`.
  std::vector<std::pair<std::size_t, std::size_t>> moved;
  std::set<std::string> by_number;  // as in portable_path: one of the two knows the text of the file's lines

  // A sentence about the files in `by_number`; nothing where there are none.
  std::optional<std::string> sentence() const;
};

// Returns whether two places are one that was renamed or edited: the text of the line is the same, and so is the file
// or the function; or both of these are, and the lines have half of their words in common (one was split).
struct CodePlace {
  std::string_view file, function, text;
};
bool is_nearly(const CodePlace&, const CodePlace&);

Comparable comparable(const Account& before, const Account& after);

// Says whether the other one of two comparable accounts has a finding.
enum class InOther : std::uint8_t {
  kThere,
  kNotThere,
  kMaybeMissed,  // it does not tell of it, and may not have looked: could_find()
};
// Returns this for each finding of the first account.
std::vector<InOther> in_other(const Account& account, const Account& other);

}  // namespace castscope::report
