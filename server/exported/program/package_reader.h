// Recognises a model's file by its contents: it reads programs of torch.export, and refuses other files that may go by
// that name with an error that says what they are and what can be done instead.
//
//   PyTorch 2.8 …   NAME/archive_format "pt2", NAME/models/MODEL.json, NAME/data/aotinductor/MODEL/…
//   … 2.7           serialized_exported_program.json, version "8.3"
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "server/exported/program/program.h"

namespace castscope::exported {

// Limits the JSON of one program. A decomposed program of a thousand layers takes a fifth of it.
inline constexpr std::uint64_t kMostProgramBytes = 256 << 20;

absl::StatusOr<Package> read_package(const std::string& file, std::uint64_t most_bytes = kMostProgramBytes);

}  // namespace castscope::exported
