// Which operators get a kernel of ours, and where: what cannot be done inside cached_cast. With all_kernels, every
// operator that the policy or PyTorch's list speaks of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/enforce/decided/decisions.h"
#include "agent/wiring/features.h"

namespace castscope::enforce {

// Once, when the agent starts. What cannot be registered is told by kernel_notices.
void start_kernels(const PolicyTable& policy, bool all_kernels);
// An outermost region is entered: operators of others than PyTorch's may have been registered since.
void look_for_operators();
// One sentence for each operator of PyTorch's that the policy names and this PyTorch lacks.
std::vector<std::string> kernel_notices();

// Of the operator whose PyTorch kernel called cached_cast from here, where the policy wants something else of it;
// nullptr: as PyTorch asks.
const OperatorPlan* plan_of_call(const void* return_address);

// The argument of a kernel of ours for which this stands as the call site.
std::optional<KernelArgument> kernel_argument(std::uint64_t site);

}  // namespace castscope::enforce
