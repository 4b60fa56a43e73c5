#include "server/report/model/precision.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "server/report/model/json_values.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/places/code_places.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;
// file, line, function, model, module, operator, grad mode, dtype
using Key =
    std::tuple<std::string, std::int64_t, std::string, std::string, std::string, std::string, bool, std::string>;

bool has_weight(const store::OperatorUse& use) {
  return std::any_of(use.operands.begin(), use.operands.end(),
                     [](const lanes::Operand& operand) { return operand.role == lanes::Role::kWeight; });
}

}  // namespace

std::vector<PrecisionRow> precision_rows(const store::RunData& data) {
  const auto times = rules::times_of_uses(data);
  std::map<Key, std::uint64_t> calls;
  for (const store::OperatorUse& use : data.operator_uses) {
    if (!rules::is_product(use.op) || !has_weight(use) || times[use.id] == 0 || rules::called_by_engine(data, use))
      continue;
    const store::CodeLocation at = data.user_location(use.stack).value_or(store::CodeLocation());
    const store::Module module = use.module ? data.modules[use.module] : store::Module();
    calls[{at.file, at.line, at.function, module.model(), module.path, use.op, use.is(lanes::kUseGradMode),
           std::string(store::dtype_name(use.computed))}] += times[use.id];
  }
  std::vector<PrecisionRow> rows;
  for (const auto& [key, count] : calls) {
    const auto& [file, line, function, model, module, op, grad_mode, dtype] = key;
    rows.push_back({.at = {file, function, line},
                    .model = model,
                    .module = model.empty() ? "" : module,
                    .op = op,
                    .computed = dtype,
                    .grad_mode = grad_mode,
                    .calls = count});
  }
  return rows;
}

Json precision_json(const store::RunData& data) {
  Json list = Json::array();
  for (const PrecisionRow& row : precision_rows(data)) {
    list.push_back({{"location", location_json(data, row.at)},
                    {"model", row.model.empty() ? Json() : Json(row.model)},
                    {"module", row.model.empty() ? Json() : Json(row.module)},
                    {"operator", row.op},
                    {"grad_mode", row.grad_mode},
                    {"computed_in", row.computed},
                    {"calls", row.calls}});
  }
  return list;
}

}  // namespace castscope::report
