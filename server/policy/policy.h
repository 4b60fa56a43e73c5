// A policy: which operator runs in which precision. What is said in no rule is left alone, as an operator without an
// autocast kernel is. docs/policies.md has the file; this is what is left of it once it is read and understood.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/policy/cast_policy.h"

namespace castscope::policy {

// Where a rule is written, "FILE:LINE:COLUMN".
using Place = std::string;

// "aten::sum.dim_IntList": overload "dim_IntList"; "aten::sum.default": "default", which PyTorch's schemas spell "";
// "aten::sum": "", all overloads that neither write into an argument nor return a view.
struct OperatorName {
  std::string name;  // with its namespace
  std::string overload;
  bool operator==(const OperatorName&) const = default;
  auto operator<=>(const OperatorName&) const = default;
};
// "sum" and "aten::sum" are the same.
OperatorName operator_name(std::string_view written);
// Of one that was called, as PyTorch's schemas name it: "aten::linear" is its overload "default".
OperatorName operator_called(std::string_view schema_name);
// Without "aten::".
std::string shown(const OperatorName&);

struct OperatorRule {
  CastPolicy policy{};
  std::string message;  // of a banned one
  Place place;
};

struct ArgumentRule {
  std::vector<std::string> arguments;  // keep their dtype whatever happens
  Place place;
};

struct Policy;

// What a module's operators do: all in one precision, or by another policy's operators.
struct Precision {
  enum class Kind : std::uint8_t { kFp32, kLower, kPassthrough, kPolicy };
  Kind kind{};
  Dtype dtype = Dtype::kAmbient;               // of kLower
  std::string policy = {};                     // of kPolicy: as it is written
  std::shared_ptr<const Policy> by = nullptr;  // what that names; its operators, never_cast and dtype are meant
};
std::string shown(const Precision&);

struct ModuleRule {
  std::string pattern;  // a regular expression that a module's whole path, or its class's whole name, matches
  Precision precision;
  Place place;
};

enum class FunctionCast : std::uint8_t { kHalf, kFloat, kPromote };
inline constexpr std::array<std::string_view, 3> kFunctionCastNames = {"half", "float", "promote"};
std::string_view name(FunctionCast);

struct FunctionRule {
  std::string function;  // "package.module:name" or "package.module:Class.name"
  FunctionCast cast{};
  Place place;
};

enum class Keep : std::uint8_t { kRegion, kStep, kUntilWritten };
inline constexpr std::array<std::string_view, 3> kKeepNames = {"region", "step", "until_written"};

// Nothing where nothing is said.
struct CacheRules {
  std::optional<bool> enabled, frozen, views, nonleaf;
  std::optional<std::uint64_t> max_bytes;
  std::optional<Keep> keep;
  bool operator==(const CacheRules&) const = default;
};

struct Policy {
  std::string name;  // as it was asked for: "torch-cpu", "mine.json"
  std::string description;
  std::string device;  // one of kDeviceNames; "any" applies to all
  std::optional<Dtype> dtype;
  std::optional<Dtype> default_dtype;  // of regions that name none; never kAmbient
  std::map<OperatorName, OperatorRule> operators;
  std::map<OperatorName, ArgumentRule> never_cast;
  // In the order in which they are written, an extended policy's first: the last one that matches is meant.
  std::vector<ModuleRule> modules;
  std::vector<FunctionRule> functions;
  CacheRules cache;
  std::vector<std::string> files;  // it was read from, the extended ones first
};

}  // namespace castscope::policy
