// The operators of PyTorch that a policy may name, out of policies/operators.txt (made by policies/from_dispatcher.py).
// Other namespaces (torchvision::roi_align) are known to the job alone: any name of theirs is taken as it is.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/policy/policy.h"

namespace castscope::policy {

class Operators {
 public:
  // `text` outlives this. See operator_lines() of from_dispatcher.py for what a line holds.
  explicit Operators(std::string_view text);
  static const Operators& of_pytorch();

  // Why a policy may not name this operator, to stand behind "\"linera\" ": a misspelt one, one that writes into an
  // argument. "" = it may.
  std::string trouble(const OperatorName&) const;
  // The same of an argument of it.
  std::string trouble(const OperatorName&, const std::string& argument) const;
  // Why a cast policy that sets a dtype argument cannot hold for it. `by_another`: in a call of another overload.
  std::string trouble_with_dtype(const OperatorName&, bool by_another) const;
  // Those that neither write into an argument nor return a view, "default" first; of another namespace than aten: none.
  std::vector<std::string> overloads(const std::string& name) const;
  std::string_view version() const { return version_; }  // "PyTorch 2.13.0"

 private:
  struct Overload {
    std::string_view name;
    bool writes = false, is_view = false, takes_dtype = false;
    std::vector<std::string_view> tensors;  // its arguments that hold tensors
  };
  const std::vector<Overload>* find(const std::string& name) const;  // null = not known

  std::string_view version_;
  std::map<std::string_view, std::vector<Overload>> operators_;  // without "aten::"
};

}  // namespace castscope::policy
