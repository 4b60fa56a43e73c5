// A line of code by its texts: of Python code, or of TorchScript, which remembers the lines that it was compiled from.
#pragma once

#include <cstdint>
#include <string>

namespace castscope {

struct CodeLine {
  std::string file, function;
  std::uint32_t line = 0;
  std::uint32_t misplaced = 0;  // 0: it is in that file; else script::file_of() has the true one (misplaced.h)
  bool operator==(const CodeLine&) const = default;
};

}  // namespace castscope
