#include "server/policy/compiled.h"

#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/enforce/decided/policy_table.h"
#include "server/policy/decide.h"
#include "server/policy/load.h"

namespace castscope::policy {
namespace {

class Writer {
 public:
  void write_line(std::initializer_list<std::string_view> words) { write_line(std::vector<std::string_view>(words)); }
  void write_line(const std::vector<std::string_view>& words) {
    for (std::size_t i = 0; i < words.size(); ++i)
      absl::StrAppend(&text_, i == 0 ? "" : "\t", enforce::escaped(words[i]));
    text_ += '\n';
  }
  std::string text() const {
    return absl::StrCat(std::string(enforce::kPolicyFormat), "\nhash\t", enforce::hash_of(text_), "\n", text_);
  }

 private:
  std::string text_;
};

void write_cache(const CacheRules& cache, Writer& to) {
  const auto flag = [&](std::string_view what, const std::optional<bool>& value) {
    if (value) to.write_line({"cache", what, *value ? "1" : "0"});
  };
  flag("enabled", cache.enabled);
  flag("frozen", cache.frozen);
  flag("views", cache.views);
  flag("nonleaf", cache.nonleaf);
  if (cache.max_bytes) to.write_line({"cache", "max_bytes", absl::StrCat(*cache.max_bytes)});
  if (cache.keep) to.write_line({"cache", "keep", kKeepNames[static_cast<std::size_t>(*cache.keep)]});
}

void write_table(std::size_t number, const Policy& policy, Writer& to) {
  to.write_line({"table", absl::StrCat(number)});
  to.write_line({"dtype", name(policy.dtype.value_or(Dtype::kAmbient))});
  for (const auto& [op, rule] : policy.operators) {
    if (rule.message.empty())
      to.write_line({"op", name(rule.policy), op.name, op.overload});
    else
      to.write_line({"op", name(rule.policy), op.name, op.overload, rule.message});
  }
  for (const auto& [op, rule] : policy.never_cast) {
    std::vector<std::string_view> words = {"never", op.name, op.overload};
    words.insert(words.end(), rule.arguments.begin(), rule.arguments.end());
    to.write_line(words);
  }
}

// Writes how PyTorch's own kernels treat the operators where this policy decides: an operator that they treat
// differently needs a kernel of castscope's.
void write_pytorchs(const Policy& policy, Writer& to) {
  for (const std::string_view device : kDeviceNames) {
    if (device == "any" || (policy.device != "any" && policy.device != device)) continue;
    const auto pytorchs = load("torch-" + std::string(device));
    if (!pytorchs.ok()) continue;  // it is shipped; a test reads it
    for (const auto& [op, rule] : pytorchs->operators)
      to.write_line({"pytorch", device, name(rule.policy), op.name, op.overload});
  }
}

void read_table(const enforce::OperatorTable& table, Policy& into) {
  if (table.dtype != enforce::LowerDtype::kAmbient) into.dtype = static_cast<Dtype>(table.dtype);
  for (const auto& [op, rule] : table.operators)
    into.operators[{op.first, op.second}] = {static_cast<CastPolicy>(rule.policy), rule.message, ""};
  for (const auto& [op, arguments] : table.never_cast) into.never_cast[{op.first, op.second}] = {arguments, ""};
}

Precision precision_of(const enforce::ModuleRule& rule, const enforce::PolicyTable& table) {
  using Kind = enforce::ModuleRule::Kind;
  Precision precision;
  precision.kind = rule.kind == Kind::kFp32          ? Precision::Kind::kFp32
                   : rule.kind == Kind::kPassthrough ? Precision::Kind::kPassthrough
                   : rule.kind == Kind::kLower       ? Precision::Kind::kLower
                                                     : Precision::Kind::kPolicy;
  precision.dtype = static_cast<Dtype>(rule.dtype);
  if (rule.kind != Kind::kTable) return precision;
  auto other = std::make_shared<Policy>();
  other->name = precision.policy = "another policy";
  other->device = table.device;
  read_table(table.tables[rule.table], *other);
  precision.by = std::move(other);
  return precision;
}

}  // namespace

absl::StatusOr<Policy> restored(std::string_view compiled) {
  std::string error;
  const auto table = enforce::read_policy_table(compiled, &error);
  if (!table) return absl::DataLossError(error);
  Policy policy;
  policy.name = table->name;
  policy.device = table->device;
  if (table->default_dtype) policy.default_dtype = static_cast<Dtype>(*table->default_dtype);
  read_table(table->tables[0], policy);
  for (const enforce::ModuleRule& rule : table->modules) {
    ModuleRule& module = policy.modules.emplace_back();
    module.pattern = rule.pattern;
    module.precision = precision_of(rule, *table);
  }
  for (const auto& [function, cast] : table->functions) {
    for (std::size_t i = 0; i < kFunctionCastNames.size(); ++i) {
      if (kFunctionCastNames[i] == cast) policy.functions.push_back({function, static_cast<FunctionCast>(i), ""});
    }
  }
  policy.cache = {table->cache_enabled, table->cache_frozen,    table->cache_views,
                  table->cache_nonleaf, table->cache_max_bytes, std::nullopt};
  if (table->cache_keep) policy.cache.keep = static_cast<Keep>(*table->cache_keep);
  return policy;
}

std::string hash_of_compiled(std::string_view compiled) {
  constexpr std::string_view kBefore = "\nhash\t";
  const std::size_t at = compiled.find(kBefore);
  return at == std::string_view::npos ? "" : std::string(compiled.substr(at + kBefore.size(), 16));
}

std::string compiled(const Policy& policy) {
  Writer to;
  to.write_line({"name", policy.name});
  to.write_line({"device", policy.device});
  if (policy.default_dtype) to.write_line({"default_dtype", name(*policy.default_dtype)});
  write_cache(policy.cache, to);
  for (const FunctionRule& rule : policy.functions) to.write_line({"function", rule.function, name(rule.cast)});
  std::vector<const Policy*> tables = {&policy};
  for (const ModuleRule& rule : policy.modules) {
    if (rule.precision.by == nullptr) {
      to.write_line({"module", rule.pattern, shown(rule.precision)});
    } else {
      to.write_line({"module", rule.pattern, "table", absl::StrCat(tables.size())});
      tables.push_back(rule.precision.by.get());
    }
  }
  if (!policy.modules.empty()) {
    for (const OperatorName& op : on_pytorchs_lists()) to.write_line({"known", op.name, op.overload});
  }
  write_pytorchs(policy, to);
  for (std::size_t i = 0; i < tables.size(); ++i) write_table(i, *tables[i], to);
  return to.text();
}

}  // namespace castscope::policy
