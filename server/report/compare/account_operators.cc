#include "server/report/compare/account_operators.h"

#include <array>
#include <optional>
#include <set>
#include <utility>

#include "server/report/findings/fingerprint.h"
#include "server/report/model/model.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

constexpr std::string_view kConversions[] = {"aten::to",
                                             "aten::_to_copy",
                                             "aten::type_as",
                                             "aten::copy_",
                                             "aten::_autocast_to_reduced_precision",
                                             "aten::_autocast_to_full_precision",
                                             "prims::convert_element_type"};

struct Argument {
  std::string given, passed;
  bool is_weight = false, is_number = false;
};

bool is_half(std::string_view dtype) { return dtype == "bfloat16" || dtype == "float16"; }

// A conversion computes nothing, and a product with a weight is told elsewhere (AccountPrecision).
bool is_left_out(std::string_view op, const std::vector<Argument>& arguments) {
  if (rules::is_one_of(rules::base_name(op), kConversions)) return true;
  return rules::is_product(op) &&
         std::ranges::any_of(arguments, [](const Argument& argument) { return argument.is_weight; });
}

std::string half_from(std::string_view computed, const std::vector<Argument>& arguments) {
  if (!is_half(computed)) return "";
  HalfFrom from = HalfFrom::kCode;
  for (const Argument& argument : arguments) {
    if (argument.is_number) continue;
    if (argument.given != argument.passed && is_half(argument.passed)) return std::string(name(HalfFrom::kAutocast));
    if (is_half(argument.given)) from = HalfFrom::kArguments;
  }
  return std::string(name(from));
}

}  // namespace

std::string_view name(HalfFrom from) {
  constexpr std::array<std::string_view, 3> kNames = {"autocast", "arguments", "code"};
  return kNames[static_cast<std::size_t>(from)];
}

std::vector<AccountPrecision> operators_of(const Model& model, const std::string& project) {
  std::set<AccountPrecision> rows;
  for (const Layer& layer : model.layers.all) {
    const store::OperatorUse& use = *layer.first;
    if (use.phase == lanes::Phase::kBackward || use.computed == rules::kNoDtype) continue;
    std::vector<Argument> arguments;
    for (const LayerArgument& one : layer.arguments)
      arguments.push_back({.given = std::string(store::dtype_name(one.given)),
                           .passed = std::string(store::dtype_name(one.entered)),
                           .is_weight = one.role == lanes::Role::kWeight,
                           .is_number = one.why == rules::NotCast::kNumber});
    if (is_left_out(use.op, arguments)) continue;
    const store::CodeLocation at = layer.at.value_or(store::CodeLocation());
    const store::Module module = use.module ? model.run.modules[use.module] : store::Module();
    AccountPrecision row{.file = portable_path(at.file, project),
                         .function = at.function,
                         .model = module.model(),
                         .module = module.model().empty() ? "" : module.path,
                         .op = use.op,
                         .computed = std::string(store::dtype_name(use.computed)),
                         .line = at.line};
    row.half_from = half_from(row.computed, arguments);
    rows.insert(std::move(row));
  }
  return {rows.begin(), rows.end()};
}

std::vector<AccountPrecision> operators_of(const ReportPart& report, const std::string& project) {
  std::set<AccountPrecision> rows;
  if (!report.has("layers") || !report.has("modules")) return {};
  const std::vector<ReportPart> modules = report.parts("modules");
  for (const ReportPart& layer : report.parts("layers")) {
    if (!layer.has("module_indexes")) return {};  // the first castscopes wrote layers in another form
    const std::string op = layer.text("operator"), computed = layer.text_or_empty("computed_in");
    if (layer.text("phase") == store::name(lanes::Phase::kBackward) || computed.empty()) continue;
    std::vector<Argument> arguments;
    for (const ReportPart& one : layer.parts("arguments"))
      arguments.push_back({.given = one.text("given_dtype"),
                           .passed = one.text("passed_dtype"),
                           .is_weight = one.text("role") == store::name(lanes::Role::kWeight),
                           .is_number = one.text_or_empty("why_not_cast") == rules::name(rules::NotCast::kNumber)});
    if (is_left_out(op, arguments)) continue;
    const ReportPart at = layer.part("location");
    AccountPrecision row{.file = portable_path(at.text_or_empty("file"), project),
                         .function = at.text_or_empty("function"),
                         .op = op,
                         .computed = computed,
                         .line = at.number_or_0("line"),
                         .half_from = half_from(computed, arguments)};
    const std::vector<ReportPart> ran = layer.referred_all("module_indexes", modules);
    for (const ReportPart& module : ran) {
      row.model = module.text_or_empty("model");
      row.module = row.model.empty() ? "" : module.text_or_empty("module");
      rows.insert(row);
    }
    if (ran.empty()) rows.insert(row);
  }
  return {rows.begin(), rows.end()};
}

}  // namespace castscope::report
