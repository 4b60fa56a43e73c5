// Maps the functions of PyTorch that one calls from Python to the operators that they end in, from
// policies/functions.txt (policies/from_python.py writes it and describes its form). Policies name operators, so this
// mapping shows how far a policy reaches a function.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/policy/decide.h"

namespace castscope::policy {

// A way that a call of a function may take: operators from the one that it calls to the one that computes, each called
// by the one before it.
struct Step {
  OperatorName op;
  bool writes = false;  // it writes into an argument: autocast leaves it alone
  // The function itself sets the dtype argument: rules that set one where none is given have no effect.
  bool given_dtype = false;
};
using Way = std::vector<Step>;

struct Function {
  std::string
      name;  // "torch.norm", "Tensor.exp_", "torch.norm(out=)", "torch.nn.functional.normalize", "torch.nn.LSTM"
  std::vector<Way> ways;
  std::string within;  // for a class: the function of torch.nn.functional that it calls, else ""
};

class Functions {
 public:
  explicit Functions(std::string_view text);
  static const Functions& of_pytorch();

  // Returns the functions of this name: "normalize" means any function called so, also in place and with out=;
  // "torch.norm", "F.normalize", "Tensor.exp" and "nn.LSTM" mean the one in that place.
  std::vector<const Function*> named(std::string_view name) const;
  const std::vector<Function>& all() const { return all_; }
  // Returns the functions that reach this operator, or any of its overloads where none is named.
  std::vector<const Function*> through(const OperatorName& op) const;
  // Returns the ways that an operator takes to the operators it is made of; none for one that computes itself.
  std::vector<Way> below(const OperatorName& op) const;

 private:
  std::vector<Function> all_;
  std::multimap<std::string, const Function*> by_last_name_;
  std::map<std::string, std::vector<const Function*>> by_operator_;  // by its name, without an overload
};

// A policy's decision for one way: by the first operator of it that the policy names.
struct WayDecision {
  const Way* way = nullptr;
  const Step* by = nullptr;  // null: the policy names none of them, so they are left alone
  Decision decision;
  bool reached() const { return by != nullptr || !way->front().writes; }
};
// Decides for each way. A policy for another device than the CPU leaves out the ways that only the CPU goes
// (mkldnn_rnn_layer).
std::vector<WayDecision> decide(const Policy&, const Function&, const std::vector<ModuleUse>& modules = {});

// Returns the policy's rule under "functions" for this function, or for the one that it calls; null when there is none.
const FunctionRule* rule_of(const Policy&, const Function&);

}  // namespace castscope::policy
