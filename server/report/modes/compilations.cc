#include "server/report/modes/compilations.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "server/report/model/json_values.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

struct Text {
  std::string code, guard;
};

// "0/1 forward (net.py:12): GUARD": the compile id, the code, and the guard of a recompilation.
Text text_of(const store::Fact& fact) {
  std::string_view rest = fact.text;
  rest.remove_prefix(std::min(rest.size(), rest.find(' ') + 1));
  if (fact.kind != lanes::FactKind::kRecompiled) return {std::string(rest), ""};
  const std::size_t end = rest.find("): ");
  if (end == std::string_view::npos) return {std::string(rest), ""};
  return {std::string(rest.substr(0, end + 1)), std::string(rest.substr(end + 3))};
}

template <typename Named>
Named& named(std::vector<Named>& all, std::string Named::*name, std::string value) {
  const auto found = std::ranges::find(all, value, name);
  if (found != all.end()) return *found;
  all.emplace_back().*name = std::move(value);
  return all.back();
}

}  // namespace

std::vector<Compilation> compilations(const store::RunData& data) {
  std::vector<Compilation> all;
  for (const store::FactCount& count : data.fact_counts) {
    const store::Fact& fact = data.facts[count.fact];
    const bool again = fact.kind == lanes::FactKind::kRecompiled;
    if ((fact.kind != lanes::FactKind::kCompiled && !again) || count.times == 0) continue;
    Text text = text_of(fact);
    Compilation& one = named(all, &Compilation::code, std::move(text.code));
    one.times += count.times;
    if (one.called_at.file.empty()) one.called_at = data.user_location(fact.stack).value_or(store::CodeLocation());
    if (again) named(one.again, &Recompilation::guard, std::move(text.guard)).times += count.times;
  }
  return all;
}

Json compilations_json(const store::RunData& data) {
  Json list = Json::array();
  for (const Compilation& one : compilations(data)) {
    Json again = Json::array();
    for (const Recompilation& of : one.again) again.push_back({{"guard", of.guard}, {"times", of.times}});
    list.push_back({{"compiled_code", one.code},
                    {"called_at", location_json(data, one.called_at)},
                    {"times", one.times},
                    {"recompilations", std::move(again)}});
  }
  return list;
}

}  // namespace castscope::report
