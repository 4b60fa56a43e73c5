// The file of a model, by what is in it: torch.export's programs are read; what else may come by that name is told
// apart and refused with what can be done instead.
//
//   PyTorch 2.8 …   NAME/archive_format "pt2", NAME/models/MODEL.json, NAME/data/aotinductor/MODEL/…
//   … 2.7           serialized_exported_program.json, version "8.3"
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "server/exported/program/program.h"

namespace castscope::exported {

// Of the JSON of one program. A thousand layers, decomposed, take a fifth of it.
inline constexpr std::uint64_t kMostProgramBytes = 256 << 20;

absl::StatusOr<Package> read_package(const std::string& file, std::uint64_t most_bytes = kMostProgramBytes);

}  // namespace castscope::exported
