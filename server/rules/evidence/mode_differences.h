// Operators that computed in another dtype in one mode than the same line did in eager code.
//
// Compared are operators of one name at one line, of any name where both are matrix work, eager ones in an enabled
// region, as deep steps saw them, and only what ran alike: in regions of one dtype. What differs only because an
// operator before it did is its follower; so is what follows a line of a script or a trace that is cast though it has
// autocast off, which rules of their own tell.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/rules/evidence/operators/mode_of.h"
#include "server/rules/evidence/operators/use_graph.h"
#include "server/rules/evidence/places/places.h"

namespace castscope::rules {

// A pair that differs: the first use of each.
struct ModeDifference {
  const store::OperatorUse *other = nullptr, *eager = nullptr;
};

class ModeDifferences {
 public:
  ModeDifferences(const store::RunData&, const std::set<Mode>& modes);
  // By the line of the mode's operator, those that follow from no other.
  std::map<Line, std::vector<ModeDifference>> first() const;
  // Lines of all of them.
  std::set<Line> lines() const;
  // "net.py:4, net.py:9": lines of those that follow from these.
  std::string followers(const std::vector<ModeDifference>& of) const;

 private:
  bool hands_on(std::uint32_t use) const;
  bool follows(std::uint32_t use) const;
  bool is_told(const store::OperatorUse&) const;
  void reach(std::uint32_t use, std::set<std::uint32_t>& reached) const;

  const store::RunData& data_;
  const UseGraph graph_;
  const std::set<Line> told_;                      // lines_cast_though_off
  std::map<std::uint32_t, ModeDifference> found_;  // by the mode's use
};

// "gelu, linear"
std::string operators_of(const std::vector<ModeDifference>&);

}  // namespace castscope::rules
