// What a program computes in when it runs outside autocast, as it does once it is deployed: the graph is walked with
// the dtypes of its inputs, by autocast's lists within the regions that it kept, by PyTorch's rules of promotion
// elsewhere. What was recorded when it was exported may say something else; the walk tells where, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/exported/program/program.h"

namespace castscope::exported {

// Why a tensor's dtype is another one than was recorded.
enum class Why : std::uint8_t {
  kNone,
  kRegionLost,  // autocast gave the recorded one, and no region is there
  kRegionKept,  // a region of the program gives the other one, and was passed over when the dtypes were recorded
};

struct RunDtype {
  Dtype dtype = Dtype::kUnknown;
  bool certain = true;  // follows from what was read by rules that hold for all operators on the way
  Why why = Why::kNone;
};

// wrap_with_autocast: `with torch.autocast(…)` in the model's own code.
struct Region {
  std::string device;
  std::optional<Dtype> dtype;  // as told, or else that of the region around it, or the device's default
  bool enabled = true;
  std::optional<std::size_t> within;  // of the walk's regions
  std::size_t operators = 0;          // that compute, not those of regions within
  std::optional<SourcePlace> first, last;
};

struct Step {  // an operator that computes or casts floating-point tensors
  const Node* node = nullptr;
  bool casts = false;
  Dtype from = Dtype::kUnknown;      // of a cast
  Dtype recorded = Dtype::kUnknown;  // what it gives, as it was recorded
  RunDtype runs;                     // what it gives when it runs
  Dtype computed = Dtype::kUnknown;  // what it computes in when it runs
  bool of_weight = false;            // a cast's tensor is one
  bool lost = false;                 // autocast's hand in what was recorded: its dtypes are possible in no other way
  std::optional<std::size_t> region;
};

// Where the program raises when it runs.
struct Stop {
  const Node* node = nullptr;
  bool is_check = false;                                    // by an assertion that was recorded
  Dtype wanted = Dtype::kUnknown, given = Dtype::kUnknown;  // of an operator that wants one dtype: two of those it gets
  Why why = Why::kNone;
};

struct Walk {
  std::vector<Region> regions;  // outer ones first
  std::vector<Step> steps;      // in the order in which they run
  std::vector<Stop> stops;
};

// The walk points into the program.
Walk walk(const Program&);

}  // namespace castscope::exported
