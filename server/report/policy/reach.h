// Explains which functions that Python code calls a policy reaches, and what autocast of other devices does instead.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/policy/functions.h"

namespace castscope::report {

// "torch.norm, Tensor.norm  end in linalg_vector_norm (fp32)": functions with the same fate share a paragraph.
std::string functions_text(const policy::Policy&, const std::vector<const policy::Function*>&,
                           const std::vector<policy::ModuleUse>& modules, int width);
nlohmann::ordered_json functions_json(const policy::Policy&, const std::vector<const policy::Function*>&,
                                      const std::vector<policy::ModuleUse>& modules);

// Returns the functions that Python has under this name; if there are none, those that end in this operator.
std::vector<const policy::Function*> functions_of(const policy::OperatorName& op);

// "bmm (lower_precision_fp)": for an operator that the policy leaves alone, the operators that it calls and that the
// policy mentions; "" where there are none.
std::string parts_text(const policy::Policy&, const policy::OperatorName& op,
                       const std::vector<const policy::Function*>&, const std::vector<policy::ModuleUse>& modules);

// Says what PyTorch's own autocast does with the operator on `device`.
std::string device_text(std::string_view device, const policy::OperatorName& op, int width);
nlohmann::ordered_json device_json(std::string_view device, const policy::OperatorName& op);

// Says what PyTorch's own autocast does with the operator on the devices other than `device`, and what a run there
// reports about them.
std::string devices_text(std::string_view device, const policy::OperatorName& op, int width);
nlohmann::ordered_json devices_json(std::string_view device, const policy::OperatorName& op);

}  // namespace castscope::report
