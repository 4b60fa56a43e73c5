// Files for parsers that read files. They lie in a folder of this process in the folder for temporary files, which
// scripts/fuzz puts into memory, and are removed when the process ends well.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace castscope::fuzz {

// The path of a file of this name; nothing need be there.
std::string scratch_path(const std::string& name);
// Writes the file anew, without making another one in its place. Returns its path.
std::string scratch_file(const std::string& name, std::string_view content);

// Bytes of a file that is mostly zero, or mostly like another one: pieces, each with its offset (4 bytes) and length (2
// bytes) before it, to the end of the text or to an offset of 2^32 - 1.
class Pieces {
 public:
  explicit Pieces(std::string_view* text) : text_(text) {}
  // Puts the pieces over what `file` holds, which keeps its size.
  void put_over(std::string& file);
  // Writes them into an open file, beyond its present end too, up to `most` bytes.
  void write_into(int file, std::uint64_t most);

 private:
  bool next(std::uint32_t* offset, std::string_view* bytes);
  std::string_view* text_;
};

}  // namespace castscope::fuzz
