// What a policy reaches of the functions that one calls from Python, and what autocast of other devices does instead.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/policy/functions.h"

namespace castscope::report {

// "torch.norm, Tensor.norm  end in linalg_vector_norm (fp32)", functions that fare alike in one paragraph.
std::string functions_text(const policy::Policy&, const std::vector<const policy::Function*>&,
                           const std::vector<policy::ModuleUse>& modules, int width);
nlohmann::ordered_json functions_json(const policy::Policy&, const std::vector<const policy::Function*>&,
                                      const std::vector<policy::ModuleUse>& modules);

// Those that Python has under this name; where there are none, those that end in this operator.
std::vector<const policy::Function*> functions_of(const policy::OperatorName& op);

// "bmm (lower_precision_fp)": of an operator that the policy leaves alone, those that it calls and that the policy
// speaks of; "" where there are none.
std::string parts_text(const policy::Policy&, const policy::OperatorName& op,
                       const std::vector<const policy::Function*>&, const std::vector<policy::ModuleUse>& modules);

// These say what PyTorch's own autocast does with the operator on `device`.
std::string device_text(std::string_view device, const policy::OperatorName& op, int width);
nlohmann::ordered_json device_json(std::string_view device, const policy::OperatorName& op);

// What PyTorch's own autocast does with the operator on the other devices than `device`, and what a run on that says of
// them.
std::string devices_text(std::string_view device, const policy::OperatorName& op, int width);
nlohmann::ordered_json devices_json(std::string_view device, const policy::OperatorName& op);

}  // namespace castscope::report
