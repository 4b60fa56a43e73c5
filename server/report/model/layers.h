// The dtypes in which operators were given their arguments, computed and returned, as deep steps saw them, line by line
// and module by module, and why autocast left an argument as it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/rules/evidence/counts/looked_at.h"
#include "server/rules/evidence/operators/device_dtypes.h"
#include "server/rules/evidence/operators/not_cast.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

struct LayerArgument {
  std::string name;  // from the schema, else its position there
  lanes::Role role{};
  std::uint8_t given = 0, entered = 0;  // equal where autocast did not cast it
  rules::NotCast why{};
  auto operator<=>(const LayerArgument&) const = default;
};

struct Layer {
  const store::OperatorUse* first = nullptr;  // of those that are shown as one: place, module, operator, node, region
  std::optional<store::CodeLocation> at;
  std::vector<LayerArgument> arguments;
  std::uint64_t calls = 0;
  std::vector<rules::DeviceDtype> elsewhere;
  std::size_t modules = 1;  // modules that do the same at this line (in_groups)
};

struct Layers {
  std::uint64_t deep_steps = 0;  // of the process that had the most
  std::vector<Layer> all;        // in the order of first calls
};
Layers layers_of(const store::RunData&);

// Groups the layers for people: modules that do the same at one line (modules in a loop) are one entry, named by the
// first; forward passes come first.
std::vector<Layer> in_groups(const store::RunData&, const std::vector<Layer>&);

// "float32"; "input bfloat16, weight float32" where they differ; "" without a tensor.
std::string given_text(const Layer&);
// "already in bfloat16"; "input: already in bfloat16; bias: float64, which …" where arguments differ. Arguments that
// were cast, and numbers, are left out.
std::string why_text(const Layer&);
// "float32 on cuda, xpu and mps"
std::string elsewhere_text(const Layer&);
// "encoder.0 and 11 more"
std::string module_text(const store::RunData&, const Layer&);
// "in bfloat16: linear, conv2d; in float32: layer_norm": forward passes in regions, the most frequent first. "" where
// no operator was observed there.
std::string computed_line(const store::RunData&, const Layers&);
// How much of the run was looked at, as `coverage` counts it: "3 of 12 steps"; for a job without steps, which counts as
// one step, "40 calls of operators".
std::string looked_at_text(const Layers&, const rules::LookedAt&);
// "the 3 of 12 steps in which every operator was looked at"
std::string what_was_looked_at(const Layers&, const rules::LookedAt&);
// Returns the name of a dtype; "" for none.
std::string dtype_or_blank(std::uint8_t number);

}  // namespace castscope::report
