#include "server/policy/policy.h"

#include "absl/strings/str_cat.h"

namespace castscope::policy {

OperatorName operator_name(std::string_view written) {
  OperatorName name;
  const std::size_t colons = written.find("::");
  const std::string_view space = colons == written.npos ? "aten" : written.substr(0, colons);
  const std::string_view rest = colons == written.npos ? written : written.substr(colons + 2);
  const std::size_t dot = rest.find('.');
  name.name = absl::StrCat(std::string(space), "::", std::string(rest.substr(0, dot)));
  if (dot != rest.npos) name.overload = rest.substr(dot + 1);
  return name;
}

OperatorName operator_called(std::string_view schema_name) {
  OperatorName name = operator_name(schema_name);
  if (name.overload.empty()) name.overload = "default";
  return name;
}

std::string shown(const OperatorName& op) {
  std::string text = op.name.starts_with("aten::") ? op.name.substr(6) : op.name;
  return op.overload.empty() ? text : text.append(".").append(op.overload);
}

std::string full_name(const OperatorName& op) {
  return op.overload.empty() ? op.name : absl::StrCat(op.name, ".", op.overload);
}

std::string shown(const Precision& precision) {
  switch (precision.kind) {
    case Precision::Kind::kFp32:
      return "fp32";
    case Precision::Kind::kLower:
      return std::string(name(precision.dtype));
    case Precision::Kind::kPassthrough:
      return "passthrough";
    default:
      return precision.policy;
  }
}

std::string_view name(FunctionCast cast) { return kFunctionCastNames[static_cast<std::size_t>(cast)]; }

}  // namespace castscope::policy
