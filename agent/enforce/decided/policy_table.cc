#include "agent/enforce/decided/policy_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "agent/enforce/decided/pattern.h"
#include "agent/hash/fnv1a.h"

namespace castscope::enforce {
namespace {

constexpr std::array<std::string_view, 7> kCastPolicies = {
    "lower_precision_fp", "fp32", "fp32_set_opt_dtype", "fp32_append_dtype", "promote", "banned", "passthrough"};
constexpr std::array<std::string_view, 3> kDtypes = {"ambient", "bfloat16", "float16"};
constexpr std::array<std::string_view, 3> kKeeps = {"region", "step", "until_written"};

template <typename Enum, std::size_t n>
bool one_of(const std::array<std::string_view, n>& names, std::string_view word, Enum& into) {
  for (std::size_t i = 0; i < n; ++i) {
    if (names[i] != word) continue;
    into = static_cast<Enum>(i);
    return true;
  }
  return false;
}

template <typename Number>
bool number(std::string_view word, Number& into) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), into);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\t') {
      words.emplace_back();
    } else if (line[i] == '\\' && i + 1 < line.size()) {
      const char c = line[++i];
      words.back() += c == 't' ? '\t' : c == 'n' ? '\n' : c;
    } else {
      words.back() += line[i];
    }
  }
  return words;
}

class Reader {
 public:
  bool line(const std::vector<std::string>& words) {
    const std::string& what = words[0];
    const std::size_t n = words.size();
    if (what == "name" && n == 2) return table_.name = words[1], true;
    if (what == "device" && n == 2) return table_.device = words[1], true;
    if (what == "default_dtype" && n == 2) return default_dtype(words[1]);
    if (what == "cache" && n == 3) return cache(words[1], words[2]);
    if (what == "function" && n == 3) return table_.functions.emplace_back(words[1], words[2]), true;
    if (what == "module" && n >= 3) return module(words);
    if (what == "known" && n == 3) return table_.known.emplace_back(words[1], words[2]), true;
    if (what == "pytorch" && n == 5)
      return one_of(kCastPolicies, words[2], table_.pytorchs[words[1]][{words[3], words[4]}]);
    if (what == "table" && n == 2) return table(words[1]);
    if (table_.tables.empty()) return false;
    OperatorTable& of = table_.tables.back();
    if (what == "dtype" && n == 2) return one_of(kDtypes, words[1], of.dtype);
    if (what == "op" && (n == 4 || n == 5)) return op(of, words);
    if (what == "never" && n >= 4) return never(of, words);
    return false;
  }
  // Every table that a module names must be there.
  bool is_whole() const {
    for (const ModuleRule& rule : table_.modules) {
      if (rule.kind == ModuleRule::Kind::kTable && rule.table >= table_.tables.size()) return false;
    }
    return !table_.tables.empty() && !table_.device.empty();
  }
  PolicyTable take(std::string hash) {
    table_.hash = std::move(hash);
    return std::move(table_);
  }

 private:
  bool default_dtype(const std::string& word) {
    return one_of(kDtypes, word, table_.default_dtype.emplace()) && *table_.default_dtype != LowerDtype::kAmbient;
  }
  bool table(const std::string& word) {
    std::size_t n = 0;
    if (!number(word, n) || n != table_.tables.size()) return false;
    table_.tables.emplace_back();
    return true;
  }
  bool cache(const std::string& what, const std::string& word) {
    std::uint64_t n = 0;
    if (what == "keep") return one_of(kKeeps, word, table_.cache_keep.emplace());
    if (!number(word, n)) return false;
    if (what == "max_bytes") return table_.cache_max_bytes = n, true;
    std::optional<bool>* const flag = what == "enabled"   ? &table_.cache_enabled
                                      : what == "frozen"  ? &table_.cache_frozen
                                      : what == "views"   ? &table_.cache_views
                                      : what == "nonleaf" ? &table_.cache_nonleaf
                                                          : nullptr;
    if (flag == nullptr || n > 1) return false;
    *flag = n == 1;
    return true;
  }
  bool module(const std::vector<std::string>& words) {
    ModuleRule& rule = table_.modules.emplace_back();
    rule.pattern = words[1];
    if (std::string error; !Pattern::parse(rule.pattern, &error)) return false;
    if (words[2] == "table" && words.size() == 4) {
      rule.kind = ModuleRule::Kind::kTable;
      return number(words[3], rule.table);
    }
    if (words.size() != 3) return false;
    if (words[2] == "fp32") return rule.kind = ModuleRule::Kind::kFp32, true;
    if (words[2] == "passthrough") return rule.kind = ModuleRule::Kind::kPassthrough, true;
    rule.kind = ModuleRule::Kind::kLower;
    return one_of(kDtypes, words[2], rule.dtype);
  }
  static bool op(OperatorTable& of, const std::vector<std::string>& words) {
    OperatorRule& rule = of.operators[{words[2], words[3]}];
    if (words.size() == 5) rule.message = words[4];
    return one_of(kCastPolicies, words[1], rule.policy);
  }
  static bool never(OperatorTable& of, const std::vector<std::string>& words) {
    of.never_cast[{words[1], words[2]}].assign(words.begin() + 3, words.end());
    return true;
  }

  PolicyTable table_;
};

template <typename Map>
auto found_in(const Map& map, const std::string& op, const std::string& overload) -> decltype(&map.begin()->second) {
  auto at = map.find({op, overload});
  if (at == map.end()) at = map.find({op, ""});
  return at == map.end() ? nullptr : &at->second;
}

// The next line, without its end.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

const OperatorRule* OperatorTable::find(const std::string& op, const std::string& overload) const {
  return found_in(operators, op, overload);
}
const std::vector<std::string>* OperatorTable::never(const std::string& op, const std::string& overload) const {
  return found_in(never_cast, op, overload);
}

std::optional<PolicyTable> read_policy_table(std::string_view text, std::string* error) {
  const auto wrong = [&](std::string why) {
    *error = "the policy's table cannot be read: " + std::move(why);
    return std::nullopt;
  };
  const std::string_view format = next_line(text);
  if (format != kPolicyFormat && format != kSecondPolicyFormat && format != kFirstPolicyFormat)
    return wrong("it is of another version");
  const std::vector<std::string> hash = words_of(next_line(text));
  if (hash.size() != 2 || hash[0] != "hash" || hash[1] != hash_of(text)) return wrong("it is damaged");
  Reader reader;
  for (std::size_t n = 3; !text.empty(); ++n) {
    const std::string_view line = next_line(text);
    if (!reader.line(words_of(line))) return wrong("line " + std::to_string(n) + ": " + std::string(line));
  }
  if (!reader.is_whole()) return wrong("something is missing");
  return reader.take(hash[1]);
}

std::string escaped(std::string_view word) {
  std::string text;
  for (const char c : word) {
    if (c == '\\')
      text += "\\\\";
    else if (c == '\t')
      text += "\\t";
    else if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

std::string hash_of(std::string_view text) {
  char digits[17];
  const std::uint64_t hash = castscope_fnv1a(CASTSCOPE_FNV1A_SHORT_START, text.data(), text.size());
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

}  // namespace castscope::enforce
