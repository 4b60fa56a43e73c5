#include "server/report/model/protected_arguments.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/report/model/json_values.h"
#include "server/report/text/words.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;
using absl::StrCat;

constexpr std::size_t kMostLines = 6;
constexpr std::uint8_t kNotCast = 0xff;

ProtectedArgument argument_of(const store::RunData& data, const store::Fact& fact) {
  const std::vector<std::string> words = absl::StrSplit(fact.text, '\t');
  ProtectedArgument argument;
  argument.function = words[0];
  if (words.size() > 1) argument.argument = words[1];
  if (words.size() > 2) argument.by = words[2];
  argument.arrived = static_cast<std::uint8_t>(fact.detail & 0xff);
  argument.kept = (fact.detail & lanes::kArrivedKept) != 0;
  const unsigned to = fact.detail >> lanes::kArrivedCastTo;
  if (to != lanes::kArrivedNotCast) argument.cast_to = static_cast<std::uint8_t>(to);
  argument.called_at = data.user_location(fact.stack).value_or(store::CodeLocation());
  return argument;
}

Json dtype_json(std::uint8_t dtype) { return dtype == kNotCast ? Json() : Json(store::dtype_name(dtype)); }

}  // namespace

std::vector<ProtectedArgument> protected_arguments(const store::RunData& data) {
  using Key = std::tuple<std::string, std::string, std::string, std::uint8_t, bool, std::uint8_t>;
  std::map<Key, ProtectedArgument> all;
  for (const store::FactCount& count : data.fact_counts) {
    const store::Fact& fact = data.facts[count.fact];
    if (fact.kind != lanes::FactKind::kArgumentArrived || count.times == 0) continue;
    ProtectedArgument one = argument_of(data, fact);
    const Key key{one.function, one.argument, one.by, one.arrived, one.kept, one.cast_to};
    ProtectedArgument& known = all.try_emplace(key, std::move(one)).first->second;
    known.times += count.times;
    if (fact.detail & lanes::kArrivedHeldOff) known.held_off += count.times;
  }
  std::vector<ProtectedArgument> list;
  for (auto& [key, argument] : all) list.push_back(std::move(argument));
  return list;
}

Json protected_json(const store::RunData& data) {
  Json list = Json::array();
  for (const ProtectedArgument& one : protected_arguments(data))
    list.push_back({{"annotated_function", one.function},
                    {"argument", one.argument},
                    {"annotation", one.by},
                    {"given_dtype", dtype_json(one.arrived)},
                    {"times", one.times},
                    {"is_protected", one.kept},
                    {"casts_held_off", one.held_off},
                    {"to_dtype", dtype_json(one.cast_to)},
                    {"called_at", location_json(data, one.called_at)}});
  return list;
}

std::string fate_text(const ProtectedArgument& one) {
  if (one.cast_to != kNotCast) return StrCat("cast to ", std::string(store::dtype_name(one.cast_to)));
  if (!one.kept) return "left as it is";
  if (one.held_off == 0) return "never cast";
  return StrCat("never cast, ", counted(one.held_off, "cast", "casts"), " held off");
}

std::vector<std::string> protected_lines(const store::RunData& data) {
  const std::vector<ProtectedArgument> all = protected_arguments(data);
  std::vector<std::string> lines;
  for (const ProtectedArgument& one : all) {
    if (lines.size() == kMostLines) {
      lines.push_back(StrCat("and ", all.size() - kMostLines, " more in the report"));
      break;
    }
    lines.push_back(on_one_line(StrCat(one.argument, " of ", one.function, " arrived in ",
                                       std::string(store::dtype_name(one.arrived)), " ",
                                       counted(one.times, "time", "times"), ": ", fate_text(one))));
  }
  return lines;
}

}  // namespace castscope::report
