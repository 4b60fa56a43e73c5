// Reads the JSON of one program, schema 8 of torch.export (PyTorch 2.6 … 2.13), into a Program.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/exported/program/program.h"

namespace castscope::exported {

inline constexpr std::int64_t kSchemaMajor = 8;

// A text that is no such JSON gives an error that says where it fails.
absl::StatusOr<Program> read_program(std::string_view json, std::string name);

}  // namespace castscope::exported
