// The JSON of one program, schema 8 of torch.export (PyTorch 2.6 … 2.13), as a Program.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/exported/program/program.h"

namespace castscope::exported {

inline constexpr std::int64_t kSchemaMajor = 8;

// What is no such JSON is an error that says where.
absl::StatusOr<Program> read_program(std::string_view json, std::string name);

}  // namespace castscope::exported
