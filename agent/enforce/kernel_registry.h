// Decides which operators get a kernel of ours, and on which devices: those for which cached_cast cannot do it. With
// all_kernels, every operator that the policy or PyTorch's list names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/enforce/decided/decisions.h"
#include "agent/wiring/features.h"

namespace castscope::enforce {

// Call once, when the agent starts. kernel_notices tells what cannot be registered.
void start_kernels(const PolicyTable& policy, bool all_kernels);
// An outermost region is entered: operators by others than PyTorch may have been registered since.
void look_for_operators();
// One sentence for each PyTorch operator that the policy names and this PyTorch lacks.
std::vector<std::string> kernel_notices();

// The plan of the operator whose PyTorch kernel called cached_cast from here, where the policy wants something else
// than PyTorch asks for; nullptr: as PyTorch asks.
const OperatorPlan* plan_of_call(const void* return_address);

// The argument of a kernel of ours whose call site this number is.
std::optional<KernelArgument> kernel_argument(std::uint64_t site);

}  // namespace castscope::enforce
