// A policy: which operator runs in which precision. An operator that no rule names is left alone, as one without an
// autocast kernel is. docs/policies.md describes the file; this is the policy once the file is read and understood.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/policy/cast_policy.h"

namespace castscope::policy {

// The place of a rule, "FILE:LINE:COLUMN".
using Place = std::string;

// "aten::sum.dim_IntList" has the overload "dim_IntList"; "aten::sum.default" has "default", which PyTorch's schemas
// spell ""; "aten::sum" has "", which stands for all overloads that neither write into an argument nor return a view.
struct OperatorName {
  std::string name;  // with its namespace
  std::string overload;
  bool operator==(const OperatorName&) const = default;
  auto operator<=>(const OperatorName&) const = default;
};
// Reads a name as it is written; "sum" and "aten::sum" are the same.
OperatorName operator_name(std::string_view written);
// Reads the name of an operator that was called, as PyTorch's schemas have it: "aten::linear" is its overload
// "default".
OperatorName operator_called(std::string_view schema_name);
// Returns the name without "aten::".
std::string shown(const OperatorName&);
// Returns the name with its namespace: "aten::sum.dim_IntList".
std::string full_name(const OperatorName&);

struct OperatorRule {
  CastPolicy policy{};
  std::string message;  // for a banned one
  Place place;
};

struct ArgumentRule {
  std::vector<std::string> arguments;  // they keep their dtype in any case
  Place place;
};

struct Policy;

// The precision of a module's operators: one for all of them, or by another policy's rules for operators.
struct Precision {
  enum class Kind : std::uint8_t { kFp32, kLower, kPassthrough, kPolicy };
  Kind kind{};
  Dtype dtype = Dtype::kAmbient;               // for kLower
  std::string policy = {};                     // for kPolicy: the name as it is written
  std::shared_ptr<const Policy> by = nullptr;  // the policy of that name, whose operators, never_cast and dtype apply
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

// A member is empty where the policy does not set it.
struct CacheRules {
  std::optional<bool> enabled, frozen, views, nonleaf;
  std::optional<std::uint64_t> max_bytes;
  std::optional<Keep> keep;
  bool operator==(const CacheRules&) const = default;
};

struct Policy {
  std::string name;  // as it was requested: "torch-cpu", "mine.json"
  std::string description;
  std::string device;  // one of kDeviceNames; "any" applies to all
  std::optional<Dtype> dtype;
  std::optional<Dtype> default_dtype;  // for regions that name none; never kAmbient
  std::map<OperatorName, OperatorRule> operators;
  std::map<OperatorName, ArgumentRule> never_cast;
  // They are in the order in which they are written, those of an extended policy first; the last that matches applies.
  std::vector<ModuleRule> modules;
  std::vector<FunctionRule> functions;
  CacheRules cache;
  std::vector<std::string> files;  // the files it was read from, the extended ones first
};

}  // namespace castscope::policy
