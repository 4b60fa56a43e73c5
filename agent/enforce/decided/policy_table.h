// A policy as the agent reads it: plain lines, made by castscope from a policy file that it has understood
// (server/policy/compiled.cc). This format knows no JSON, no paths and no policies that extend others.
//
//   castscope-policy 3                                the format
//   hash <16 hex digits>                              of all lines after this one
//   name <text>                                       for sentences
//   device cpu|cuda|xpu|mps|any
//   default_dtype bfloat16|float16                    of regions that name none; only where something is said
//   cache <enabled|frozen|views|nonleaf> 0|1          only where something is said
//   cache max_bytes <n> | cache keep region|step|until_written
//   function <module:name> half|float|promote
//   module <pattern, see pattern.h> fp32|passthrough|bfloat16|float16|table <n>
//   known <operator> <overload>                       what a module's fp32 holds for, besides table 0's
//   pytorch cpu|cuda|xpu|mps <cast policy> <operator> <overload>     what PyTorch's kernel for it does there
//   table <n>                                         what follows belongs to it; 0 is the policy's own
//   dtype ambient|bfloat16|float16
//   op <cast policy> <operator> <overload> [<message>]    overload "" = every one that is not named
//   never <operator> <overload> <argument>…
//
// Words are separated by tabs; in a word, a backslash stands before a backslash, a tab is \t and a newline \n. Lines
// come in this order. Of several module lines that match, the last one holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace castscope::enforce {

inline constexpr std::string_view kPolicyFormat = "castscope-policy 3";
// The format in older run files: without `default_dtype` and the arguments that a function never casts; and without
// `pytorch`.
inline constexpr std::string_view kSecondPolicyFormat = "castscope-policy 2";
inline constexpr std::string_view kFirstPolicyFormat = "castscope-policy 1";

enum class CastPolicy : std::uint8_t {
  kLowerPrecision,
  kFp32,
  kFp32SetOptDtype,
  kFp32AppendDtype,
  kPromote,
  kBanned,
  kPassthrough
};
enum class LowerDtype : std::uint8_t { kAmbient, kBFloat16, kFloat16 };
enum class Keep : std::uint8_t { kRegion, kStep, kUntilWritten };

struct OperatorRule {
  CastPolicy policy = CastPolicy::kPassthrough;
  std::string message;
};

// Operator and overload; "" = every overload that is not named.
using Overloaded = std::pair<std::string, std::string>;

struct OperatorTable {
  LowerDtype dtype = LowerDtype::kAmbient;
  std::map<Overloaded, OperatorRule> operators;
  std::map<Overloaded, std::vector<std::string>> never_cast;

  // The rule for this overload; null = the table has none.
  const OperatorRule* find(const std::string& op, const std::string& overload) const;
  const std::vector<std::string>* never(const std::string& op, const std::string& overload) const;
};

struct ModuleRule {
  enum class Kind : std::uint8_t { kFp32, kPassthrough, kLower, kTable };
  std::string pattern;
  Kind kind{};
  LowerDtype dtype{};       // for kLower
  std::uint32_t table = 0;  // for kTable
};

struct PolicyTable {
  std::string name, hash, device;
  std::optional<LowerDtype> default_dtype;
  std::vector<OperatorTable> tables;  // the first is the policy's own
  std::vector<ModuleRule> modules;
  std::vector<Overloaded> known;
  std::map<std::string, std::map<Overloaded, CastPolicy>> pytorchs;  // by device
  std::vector<std::pair<std::string, std::string>> functions;        // name, cast
  std::optional<bool> cache_enabled, cache_frozen, cache_views, cache_nonleaf;
  std::optional<std::uint64_t> cache_max_bytes;
  std::optional<Keep> cache_keep;

  bool is_for(std::string_view device_type) const { return device == "any" || device == device_type; }
};

// Returns nothing, and says why in `error`, when the text is not of this format: then nothing is enforced.
std::optional<PolicyTable> read_policy_table(std::string_view text, std::string* error);

std::string escaped(std::string_view word);
// FNV-1a, 64 bits, as 16 hex digits.
std::string hash_of(std::string_view text);

}  // namespace castscope::enforce
