// Finds where the casts' time goes, as people see it: sites that share a line, an operator, an argument and dtypes are
// one entry (modules in a loop), named by the first. What backward casts belongs to the entry of the cast in the
// forward pass whose gradient it converts; where that is not known, it is one entry of its own.
//
// The first cast of each site in each process is left out: it sets things up, and in a short run that is most of the
// time. Where no site cast twice, only first casts exist, and those are reported.
//
// Casts in compiled graphs are not timed. Where there are no others, the largest come first.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/report/model/model.h"

namespace castscope::report {

struct Cost {
  store::SiteId site = {};  // the costliest of them
  std::optional<store::CodeLocation> at;
  bool in_backward = false;  // all of the run's casts of gradients whose casts in the forward pass are not known
  store::Counts counts;
  std::uint64_t gradients = 0;  // how many of counts.casts convert gradients
  std::uint64_t gpu_ns = 0;     // on the device, in timed steps
  std::uint64_t sites = 0;
  std::set<store::ModuleId> modules;
  std::uint64_t first_ns = 0;  // part of counts.cpu_ns
  std::uint64_t told_ns = 0;   // what they are ranked by: the time without first casts, or all
  double share = 0;            // of told_ns of all casts, autocast's and others; Costs::by_bytes: of their bytes
};
struct Costs {
  bool without_first = false;
  bool by_bytes = false;      // none was timed
  std::uint64_t told_ns = 0;  // of all
  // The costliest comes first. Sites that only hit are left out, and those without a time where others have one.
  std::vector<Cost> all;
};
Costs costliest(const Model&);

// Nobody can act on the line that calls backward: a gradient is cast because of a cast in the forward pass, or of its
// gradient's (of gradients of gradients). Returns that cast, as far as it is known, else the site itself.
const store::Site& origin_of(const store::RunData&, const store::Site&);

// "train.py:14", "in backward"
std::string place_of(const Model&, const Cost&);
// "linear weight of encoder.0 and 11 more: 3.1 ms, 1,200 casts (600 in backward)": what a line may be cut off of comes
// last.
std::string brief_description(const Model&, const Cost&);
// "linear weight of encoder.0 and 11 more, float32 to bfloat16: 1,200 casts, 3.1 ms, not kept: a view"
std::string description(const Model&, const Cost&);
// "the CPU time of all casts but each place's first"
std::string what_shares_are_of(const Costs&);

}  // namespace castscope::report
