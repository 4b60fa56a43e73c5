// Reports what became of the model's input: whether autocast cast it, and where; or, where it stayed as it was, where a
// value computed from it was cast first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/rules/evidence/operators/not_cast.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

struct ModelInput {
  struct Place {
    std::optional<store::CodeLocation> at;
    std::string op, argument;
    store::ModuleId module = {};
  };
  std::uint8_t dtype = 0;                // when it was given
  Place first;                           // the first operator in a region that took it
  std::uint8_t cast_to = 0xff;           // by autocast, at `first`; 0xff = it was not
  std::uint8_t converted_to = 0xff;      // by the code, at `first` (`.float()`); 0xff = it was not
  rules::NotCast why{};                  // if it was not cast
  std::optional<Place> first_cast = {};  // if it was not cast: where it, or a value computed from it, was cast first
  bool itself = false;                   // the input itself was cast first
  std::uint8_t first_cast_to = 0xff;
};

// Uses deep steps; without them it finds where an input is cast first. Returns nothing where no operator in a region
// took an input.
std::optional<ModelInput> model_input(const store::RunData&);

// "cast from float32 to bfloat16 for linear input, train.py:12"; "float32, stays so in layer_norm, train.py:9; what
// comes of it is cast to bfloat16 first for linear input, train.py:12"
std::string input_line(const store::RunData&, const ModelInput&);

}  // namespace castscope::report
