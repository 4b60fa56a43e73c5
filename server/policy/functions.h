// In which operators the functions of PyTorch end that one calls from Python, out of policies/functions.txt (made by
// policies/from_python.py, which has the form). Policies know operators: what one reaches of a function is told by
// these.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/policy/decide.h"

namespace castscope::policy {

// A way that a function may go: operators, from the one that it calls to the one that computes, each called by the one
// before it.
struct Step {
  OperatorName op;
  bool writes = false;       // into an argument: autocast leaves it alone
  bool given_dtype = false;  // by the function, unasked: rules that set one where none is given do nothing
};
using Way = std::vector<Step>;

struct Function {
  std::string
      name;  // "torch.norm", "Tensor.exp_", "torch.norm(out=)", "torch.nn.functional.normalize", "torch.nn.LSTM"
  std::vector<Way> ways;
  std::string within;  // of a class: the function of torch.nn.functional that it calls, where it calls one; else ""
};

class Functions {
 public:
  explicit Functions(std::string_view text);
  static const Functions& of_pytorch();

  // "normalize": whatever is called so, in place and with out=, too; "torch.norm", "F.normalize", "Tensor.exp",
  // "nn.LSTM": there.
  std::vector<const Function*> named(std::string_view name) const;
  const std::vector<Function>& all() const { return all_; }
  // That reach this operator, or any overload of it where none is named.
  std::vector<const Function*> through(const OperatorName& op) const;
  // What an operator that is made of others goes on to, after it; none of one that computes itself.
  std::vector<Way> below(const OperatorName& op) const;

 private:
  std::vector<Function> all_;
  std::multimap<std::string, const Function*> by_last_name_;
  std::map<std::string, std::vector<const Function*>> by_operator_;  // by its name, without an overload
};

// What a policy decides for one way: by the first operator that it speaks of.
struct WayDecision {
  const Way* way = nullptr;
  const Step* by = nullptr;  // null: it speaks of none of them, they are left alone
  Decision decision;
  bool reached() const { return by != nullptr || !way->front().writes; }
};
// Of a policy for another device than the CPU without the ways that only the CPU goes (mkldnn_rnn_layer).
std::vector<WayDecision> decide(const Policy&, const Function&, const std::vector<ModuleUse>& modules = {});

// What the policy says under "functions" of this one, or of the one that it calls; null: nothing.
const FunctionRule* rule_of(const Policy&, const Function&);

}  // namespace castscope::policy
