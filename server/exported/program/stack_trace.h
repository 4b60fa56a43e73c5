// Finds where an operator stands in the user's code, from what torch.export writes beside the operator.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/exported/program/program.h"

namespace castscope::exported {

// Returns the text without blanks at both ends.
std::string_view stripped(std::string_view);

struct TraceFrame {
  store::CodeLocation at;
  std::string text;  // text of the line; "" = not given
};
// Reads a traceback as Python prints it, outermost frame first. It skips lines that do not belong to a traceback.
std::vector<TraceFrame> frames_of(std::string_view stack_trace);

struct ModuleFrame {
  std::string path, class_name;  // "a.l", "torch.nn.modules.linear.Linear"
};
// Reads nn_module_stack, "key,path,class;key,path,class", outermost module first.
std::vector<ModuleFrame> modules_of(std::string_view nn_module_stack);
// Returns the class of the innermost module that is not PyTorch's own; "" when there is none.
std::string user_class(const std::vector<ModuleFrame>&);

// Returns the innermost line of the user's own, and nothing where there is none: for operators that came out of a
// region, run_decompositions records only lines of generated code.
std::optional<SourcePlace> user_place(std::string_view stack_trace, std::string_view nn_module_stack);

}  // namespace castscope::exported
