// Places in the code: lines of the user's own, at which findings stand, and frames of PyTorch's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// The line of a finding. Everything that a rule finds at one line is one finding, whatever calls lead there.
struct Line {
  std::string file;
  std::int64_t number = 0;
  auto operator<=>(const Line&) const = default;
  // Returns "train.py:12", for titles.
  std::string short_text() const { return file.substr(file.rfind('/') + 1) + ":" + std::to_string(number); }
};
// Returns the line of the innermost frame that is the user's own; without a stack, no file and 0.
Line line_of(const store::RunData&, store::StackId stack);

// Returns "train.py:12" or "models/net.py:40": the file as portable_path names it.
std::string place_text(const store::RunData&, const Line&);
std::string place_text(const store::RunData&, const store::CodeLocation&);

// Resolves "." and ".." in a path that is relative to the folder in which the job was started ("job/../lib/a.py" is
// "lib/a.py"). A text that is not a path ("<string>") stays.
std::string plain_path(std::string_view file);

// Returns the name that a file has everywhere: relative to the project (RunStart::project()); from "site-packages/" on
// where it lies in such a folder; else unchanged.
std::string portable_path(std::string_view file, std::string_view project);

// Returns the frames, innermost first; none for stack 0.
const std::vector<store::CodeLocation>& frames_of(const store::RunData&, store::StackId stack);
// Returns "Product" for "make.<locals>.Product".
std::string_view last_name(std::string_view qualified);

// Returns "autograd/function.py" for a frame in the torch package, "" for others.
std::string_view within_torch(const store::RunData&, const store::CodeLocation& frame);
// The frame is the one in which PyTorch calls a module.
bool is_module_call(const store::RunData&, const store::CodeLocation& frame);
// The innermost frame belongs to a library: PyTorch's, or Python's own.
bool is_inside_torch(const store::RunData&, store::StackId stack);
// Some frame of PyTorch's own on this stack lies in this part of the package ("jit/").
bool is_within_torch(const store::RunData&, store::StackId stack, std::string_view part);

}  // namespace castscope::rules
