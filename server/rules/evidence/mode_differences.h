// Finds operators that computed in another dtype in one mode than the same line did in eager code.
//
// It compares operators of one name at one line, or of any name where both are matrix work; the eager ones in an
// enabled region, as deep steps saw them; and only operators that ran under the same conditions, in regions of one
// dtype. An operator that differs only because one before it does is its follower. So is an operator that follows a
// line of a script or trace which is cast although it has autocast off; other rules report that line.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/mode_of.h"
#include "server/rules/evidence/operators/use_graph.h"
#include "server/rules/evidence/places/places.h"

namespace castscope::rules {

// A pair that differs, by the first use of each.
struct ModeDifference {
  const store::OperatorUse *other = nullptr, *eager = nullptr;
  // Return the names of the dtypes that they computed in.
  std::string dtype() const;
  std::string eager_dtype() const;
};
using Differences = std::vector<ModeDifference>;  // of one line

class ModeDifferences {
 public:
  ModeDifferences(const store::RunData&, const std::set<Mode>& modes);
  // Returns the differences that follow from no other, by the line of the mode's operator.
  std::map<Line, Differences> first() const;
  // Returns the lines of all differences.
  std::set<Line> lines() const;
  // Writes the evidence of these differences into their finding: both dtypes, and the lines that follow.
  void add_evidence(Finding&, const Differences&) const;

 private:
  bool hands_on(store::OperatorUseId use) const;
  bool follows(store::OperatorUseId use) const;
  bool is_told(const store::OperatorUse&) const;
  // Returns "net.py:4, net.py:9": the lines of the differences that follow from these.
  std::string followers(const Differences& of) const;
  void collect_reached(store::OperatorUseId use, std::set<store::OperatorUseId>& reached) const;

  const store::RunData& data_;
  const UseGraph graph_;
  const std::set<Line> told_;                             // lines_cast_though_off
  std::map<store::OperatorUseId, ModeDifference> found_;  // by the mode's use
};

// Returns "gelu, linear".
std::string operators_of(const Differences&);

}  // namespace castscope::rules
