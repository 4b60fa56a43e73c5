// Decides for one operator by a policy, and says why. The order of precedence: argument > module > operator; an
// operator that no rule names is left alone. (A function's rule stands above these: it takes effect before any operator
// is called.)
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
  // Whether a rule decides; else the operator is left alone, and the operators that it calls follow their own rules.
  bool ruled = false;
  Dtype dtype = Dtype::kAmbient;  // which lower precision
  std::string message;            // of a banned one
  std::vector<std::string> never_cast;
  std::vector<Reason> because;     // the rule that decides first, then those it stands above
  std::vector<Reason> exceptions;  // of never_cast
};

// `op` names its overload ("default" too). `modules` has the outermost first.
Decision decide(const Policy&, const OperatorName& op, const std::vector<ModuleUse>& modules = {});

// Returns the last rule that matches the innermost module for which there is one; null = none.
const ModuleRule* rule_of(const Policy&, const std::vector<ModuleUse>& modules);

// Returns the operators on PyTorch's lists, for any device. Only these are cast because of the module that they run in.
const std::set<OperatorName>& on_pytorchs_lists();
bool known_to_autocast(const OperatorName&);

// Returns the modules "", "a", "a.b" and "a.b.c" for "a.b.c", the last of which has this class ("" = not known).
std::vector<ModuleUse> modules_of(const std::string& path, const std::string& class_name);

}  // namespace castscope::policy
