// Computes the dtypes of a program when it runs outside autocast, as it does once it is deployed. It walks the graph
// from the dtypes of the inputs: by autocast's lists within the regions that the program kept, by PyTorch's rules of
// promotion elsewhere. Where the dtypes recorded at export differ from these, the walk says where and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/exported/program/program.h"

namespace castscope::exported {

// Says why a tensor's dtype differs from the recorded one.
enum class Why : std::uint8_t {
  kNone,
  kRegionLost,  // autocast gave the recorded dtype, and the program has no region there
  kRegionKept,  // a region of the program gives the other dtype, and was ignored when the dtypes were recorded
};

struct RunDtype {
  Dtype dtype = Dtype::kUnknown;
  bool certain = true;  // derived by rules that hold for all operators on the way
  Why why = Why::kNone;
};

// wrap_with_autocast: `with torch.autocast(…)` in the model's own code.
struct Region {
  std::string device;
  std::optional<Dtype> dtype;  // as the code gives it, else that of the region around it, else the device's default
  bool enabled = true;
  std::optional<std::size_t> within;  // index among the walk's regions
  std::size_t operators = 0;          // that compute; those of inner regions are not counted
  std::optional<SourcePlace> first, last;
};

struct Step {  // an operator that computes or casts floating-point tensors
  const Node* node = nullptr;
  bool casts = false;
  Dtype from = Dtype::kUnknown;      // of a cast: the dtype it casts from
  Dtype recorded = Dtype::kUnknown;  // what it gives, as it was recorded
  RunDtype runs;                     // what it gives when it runs
  Dtype computed = Dtype::kUnknown;  // what it computes in when it runs
  bool of_weight = false;            // a cast casts a weight
  bool lost = false;                 // autocast gave the recorded dtypes: they are possible in no other way
  std::optional<std::size_t> region;
};

// A place at which the program raises when it runs.
struct Stop {
  const Node* node = nullptr;
  bool is_check = false;                                    // a recorded assertion raises
  Dtype wanted = Dtype::kUnknown, given = Dtype::kUnknown;  // two dtypes, for an operator that wants one
  Why why = Why::kNone;
};

struct Walk {
  std::vector<Region> regions;  // outer ones first
  std::vector<Step> steps;      // in the order in which they run
  std::vector<Stop> stops;
};

// The walk holds pointers into the program.
Walk walk(const Program&);

}  // namespace castscope::exported
