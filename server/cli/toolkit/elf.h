// Reads facts from programs and libraries without loading them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace castscope::cli {

// Returns the GNU build-id in hex, or "<size>-<mtime>" when there is none: the same as agent/preload/originals.c
// returns for the loaded library.
absl::StatusOr<std::string> library_key(const std::string& path);

absl::StatusOr<bool> file_contains(const std::string& path, std::string_view text);

// Returns the content of a section; "" when there is none of that name.
absl::StatusOr<std::string> section_of(const std::string& path, std::string_view name);

// How the kernel starts a file.
struct Interpreter {
  enum class Kind { kNone, kLoader, kScript };  // kNone: a static program, or no program at all
  Kind kind = Kind::kNone;
  std::string path;       // of the dynamic loader, or of the program that a #! line names
  bool is_64_bit = true;  // of a program with a loader
};
absl::StatusOr<Interpreter> interpreter_of(const std::string& path);

// A version that a library asks for: {"GLIBC", {2, 17}}. Other words than numbers ("GLIBC_PRIVATE",
// "GLIBC_ABI_DT_RELR") are a name without numbers.
struct SymbolVersion {
  std::string name;
  std::vector<int> numbers;
  auto operator<=>(const SymbolVersion&) const = default;
  std::string text() const;
};
SymbolVersion parsed_version(std::string_view text);

// What must be there where a library is loaded.
struct LibraryNeeds {
  std::vector<std::string> libraries;   // DT_NEEDED, in the file's order
  std::vector<SymbolVersion> versions;  // of each name the newest, sorted
};
absl::StatusOr<LibraryNeeds> library_needs(const std::string& path);

// Returns those versions of `needs` that are newer than every version of the same name in `given`.
std::vector<SymbolVersion> versions_beyond(const LibraryNeeds& needs, const std::vector<LibraryNeeds>& given);

}  // namespace castscope::cli
