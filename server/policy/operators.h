// The operators of PyTorch that a policy may name, from policies/operators.txt (policies/from_dispatcher.py writes it).
// Only the job knows other namespaces (torchvision::roi_align): any name in them is accepted.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/policy/policy.h"

namespace castscope::policy {

class Operators {
 public:
  // `text` must outlive this object. operator_lines() of from_dispatcher.py describes its lines.
  explicit Operators(std::string_view text);
  static const Operators& of_pytorch();

  // Returns why a policy may not name this operator, worded to follow "\"linera\" ": it is misspelt, or writes into an
  // argument. "" = it may.
  std::string trouble(const OperatorName&) const;
  // Returns why a policy may not name this argument of the operator; "" = it may.
  std::string trouble(const OperatorName&, const std::string& argument) const;
  // Returns why a cast policy that sets a dtype argument cannot apply to the operator. `by_another`: the operator is
  // called through another overload.
  std::string trouble_with_dtype(const OperatorName&, bool by_another) const;
  // Returns the overloads that neither write into an argument nor return a view, "default" first; none for another
  // namespace than aten.
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
