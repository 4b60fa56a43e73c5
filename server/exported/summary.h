// Summarises the dtypes that a program computes in, for the engineer who is about to deploy it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "server/exported/run_dtypes.h"

namespace castscope::exported {

struct OperatorRow {
  std::string op;
  Dtype computed = Dtype::kUnknown, recorded = Dtype::kUnknown;  // recorded: what it gave when it was exported
  std::size_t count = 0;
  bool certain = true;
};

struct CastRow {
  store::CodeLocation at;  // file "" = no line
  Dtype from = Dtype::kUnknown, to = Dtype::kUnknown;
  std::size_t count = 0, of_weights = 0;
};

struct Summary {
  std::string program, torch_version, schema;
  std::vector<OperatorRow> operators;  // by dtype, then most first
  std::vector<CastRow> casts;  // casts that stand in the program, without those that autocast makes within its regions
  std::vector<Region> regions;
  std::size_t taken_apart = 0;       // operators that came out of a region by run_decompositions
  std::vector<std::string> modules;  // classes of the modules that they are in
  bool decomposed = false;           // run_decompositions made the program
  std::vector<Stop> stops;           // these point into the program
};

Summary summary_of(const Program&, const Walk&);

// File names are relative to `project`.
std::string summary_text(const Summary&, std::string_view project, int width);
nlohmann::ordered_json summary_json(const Summary&, std::string_view project);

}  // namespace castscope::exported
