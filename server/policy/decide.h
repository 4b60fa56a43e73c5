// What a policy decides for one operator, and why. The order of precedence: argument > module > operator > what nobody
// speaks of, which is left alone. (A function's rule stands above: it is carried out before any operator is called.)
#pragma once

#include <set>
#include <string>
#include <vector>

#include "server/policy/policy.h"

namespace castscope::policy {

// A module that an operator runs in.
struct ModuleUse {
  std::string path;                  // as named_modules() has it; "" = the outermost one
  std::vector<std::string> classes;  // whole names: "torch.nn.modules.normalization.LayerNorm", "torch.nn.LayerNorm"
};

struct Reason {
  std::string rule;  // "modules \"head\\..*\" → fp32"
  Place place;       // "" = nothing is written
};

struct Decision {
  CastPolicy policy = CastPolicy::kPassthrough;
  bool ruled = false;  // somebody says so; else it is left alone, and what it is made of goes by rules of its own
  Dtype dtype = Dtype::kAmbient;  // which lower precision
  std::string message;            // of a banned one
  std::vector<std::string> never_cast;
  std::vector<Reason> because;     // the rule that decides first, then those it stands above
  std::vector<Reason> exceptions;  // of never_cast
};

// `op` names its overload ("default" too). `modules`: outermost first.
Decision decide(const Policy&, const OperatorName& op, const std::vector<ModuleUse>& modules = {});

// The innermost module for which there is a rule, and the last rule that matches it; null = none.
const ModuleRule* rule_of(const Policy&, const std::vector<ModuleUse>& modules);

// What the lists of PyTorch have, of any device. Only such operators are cast because of the module they run in.
const std::set<OperatorName>& on_pytorchs_lists();
bool known_to_autocast(const OperatorName&);

// "a.b.c" → the modules "", "a", "a.b" and "a.b.c", the last one of this class ("" = not known).
std::vector<ModuleUse> modules_of(const std::string& path, const std::string& class_name);

}  // namespace castscope::policy
