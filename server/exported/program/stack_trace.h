// Where an operator stands in the user's code, out of what torch.export writes beside it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/exported/program/program.h"

namespace castscope::exported {

// Without blanks at both ends.
std::string_view stripped(std::string_view);

struct TraceFrame {
  store::CodeLocation at;
  std::string text;  // of the line, "" = not told
};
// Of a traceback as Python prints it, outermost first. Lines that are none of a traceback are passed over.
std::vector<TraceFrame> frames_of(std::string_view stack_trace);

struct ModuleFrame {
  std::string path, class_name;  // "a.l", "torch.nn.modules.linear.Linear"
};
// Of nn_module_stack, "key,path,class;key,path,class", outermost first.
std::vector<ModuleFrame> modules_of(std::string_view nn_module_stack);
// The innermost of them that is none of PyTorch's; "" = there is none.
std::string user_class(const std::vector<ModuleFrame>&);

// The innermost line of the user's own. Without one, nothing: run_decompositions leaves lines of generated code alone
// for what came out of a region.
std::optional<SourcePlace> user_place(std::string_view stack_trace, std::string_view nn_module_stack);

}  // namespace castscope::exported
