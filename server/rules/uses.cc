#include "server/rules/uses.h"

#include <algorithm>

namespace castscope::rules {
namespace {

// Those that PyTorch documents as promoting to the widest input type (amp.html), on any device. Most others that
// promote do so without autocast's doing, and are on no list.
constexpr std::string_view kPromoting[] = {"aten::cat",       "aten::stack",      "aten::index_copy", "aten::index_put",
                                           "aten::addcdiv",   "aten::addcmul",    "aten::atan2",      "aten::cross",
                                           "aten::tensordot", "aten::scatter_add"};

}  // namespace

std::string_view base_name(std::string_view op) { return op.substr(0, op.find('.')); }

std::string_view short_name(std::string_view op) {
  op = base_name(op);
  const std::size_t colons = op.rfind("::");
  return op.starts_with("aten::") && colons != std::string_view::npos ? op.substr(colons + 2) : op;
}

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const store::Region* region_of_device(const store::RunData& data, const store::OperatorUse& use) {
  for (std::uint32_t id = use.region; id != 0; id = data.region(id).parent)
    if (data.region(id).device == use.device) return &data.region(id);
  return nullptr;
}

const store::Region* enabled_region(const store::RunData& data, const store::OperatorUse& use) {
  const store::Region* region = region_of_device(data, use);
  return region != nullptr && region->enabled ? region : nullptr;
}

bool promotes_to_widest(const store::OperatorUse& use) {
  return !use.is(lanes::kUseEligible | lanes::kUseElsewhere) || is_one_of(base_name(use.op), kPromoting);
}

bool is_held_in_float32(const store::OperatorUse& use) {
  return use.is(lanes::kUseEligible | lanes::kUseElsewhere) && use.computed == kFloat && !promotes_to_widest(use);
}

const lanes::Operand* operand_at(const store::OperatorUse& use, std::uint8_t argument, std::uint8_t dtype) {
  for (const lanes::Operand& operand : use.operands)
    if (operand.argument == argument && operand.dtype == dtype) return &operand;
  return nullptr;
}

double largest_exact_integer(std::uint8_t low_dtype) { return low_dtype == kHalf ? 2048 : 256; }

Line line_of(const store::RunData& data, std::uint32_t stack) {
  const store::CodeLocation at = data.user_location(stack).value_or(store::CodeLocation());
  return {at.file, at.line};
}

bool is_inside_torch(const store::RunData& data, std::uint32_t stack) {
  if (stack == 0 || data.stacks[stack - 1].frames.empty()) return false;
  return !store::is_users_own(data.stacks[stack - 1].frames.front(), data.torch_folders);
}

UseGraph::UseGraph(const store::RunData& data)
    : data_(data),
      totals_(data.operator_uses.size() + 1),
      out_(data.operator_uses.size() + 1),
      into_(data.operator_uses.size() + 1) {
  for (const store::UseCount& count : data.use_counts) {
    Total& total = totals_[count.use];
    total.times += count.times;
    total.bytes += count.bytes;
    total.ns += count.ns;
  }
  std::vector<std::uint64_t> times(data.flows.size() + 1);
  for (const store::FlowCount& count : data.flow_counts) times[count.flow] += count.times;
  for (const store::Flow& flow : data.flows) {
    if (times[flow.id] == 0) continue;
    out_[flow.from].push_back({&flow, times[flow.id]});
    into_[flow.to].push_back({&flow, times[flow.id]});
  }
}

std::optional<store::Savings> saved_per_step(const store::RunData& data, double ns) {
  double steps = 0, step_ns = 0;
  for (const store::StepRun& run : data.step_runs) {
    steps += static_cast<double>(run.last - run.first + 1);
    step_ns += static_cast<double>(run.end_ns - run.begin_ns);
  }
  if (steps == 0 || ns <= 0) return std::nullopt;
  store::Savings savings;
  savings.ns_per_step = ns / steps;
  if (step_ns > 0) savings.share_of_step = std::min(1.0, ns / step_ns);
  return savings;
}

std::uint64_t deep_steps(const store::RunData& data) {
  std::uint64_t steps = 0;
  for (const store::Process& process : data.processes) steps += process.gauges.deep_steps;
  return steps;
}

}  // namespace castscope::rules
