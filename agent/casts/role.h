// The role of a cast tensor for the operator that takes it. The rule, in this order:
//   1. a conversion by the autograd engine, or in backward without grad mode and not a parameter → gradient
//   2. a torch.nn.Parameter, or a view of one → weight; in TorchScript, which holds parameters without their Python
//      objects, a leaf that requires grad, or a constant of the graph → weight; a tensor in a parameter's place in
//      the innermost module, or a view of it → weight (torch.func.functional_call); a tensor that Python never had with
//      the memory of a parameter of the innermost module, where an operator has its weights → weight (w.t() that the
//      fast path of nn.TransformerEncoderLayer makes)
//   3. without history, and a registered buffer of the innermost module, or a view of one → buffer
//   4. in a weight's place by the argument's name (weight, bias, w_ih, …) → weight: products of parameters
//      (weight_norm), their .data, rows of an embedding
//   5. with history → activation
//   6. a leaf that requires grad and is not a parameter → weight where the operator has its weights: the second factor
//   of
//      a matrix product (x @ w), and the tensor added to the product (addmm's self); else input (an adversarial input)
//   7. converted by an operator inside itself, and never a Python object → activation: its own interim result
//   8. without history, in grad mode or outside any module → input: data that came into the computation. (What comes
//      out of frozen layers has no history either and counts as input here.)
//   9. without history, grad mode off, inside a module → input if the tensor is itself an argument of the outermost
//      module's call, else activation: autograd cannot tell them apart there.
// Decided once per site, at its first sight.
#pragma once

#include <string_view>

#include "agent/casts/call_facts.h"
#include "agent/cpython/python_stack.h"

namespace castscope::agent {

// A torch.nn.Parameter (or a view of one) whose own class is another subclass of Tensor: nn.Parameter(DTensor).
bool is_marked_parameter(const MayWait& may_wait, const void* tensor);

lanes::Role role_of(const MayWait& may_wait, const CallFacts& facts, lanes::Cause cause, std::string_view op,
                    std::string_view argument, const RawStack& raw, const void* tensor);

}  // namespace castscope::agent
