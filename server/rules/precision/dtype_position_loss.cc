// dtype-position-loss: autocast casts whole numbers that are too large for the low precision to tell apart: positions,
// ids, timestamps, samples of sound. Or an operator takes a tensor of integers together with a half: the integers get
// the dtype of the half by PyTorch's promotion, however large they are (a grid of pixels and the corners of a box).
// Above 2^8 bfloat16 has only even numbers (8 significant bits), and float16 above
// 2^11 (11 bits). The distance doubles with each further power of two, so that 65,536 … 65,599 become one or two
// bfloat16 numbers.
//
// Not a finding: masks, whose largest number means "none of this"; a tensor that is mostly zeros (counts of words,
// one-hot); and one whose largest number is exact in the low precision (powers of two and their small multiples).
// Neither are weights, numbers that lie beyond the low precision's range (dtype-overflow), and one and the same number
// everywhere.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/sites.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/causes.h"
#include "server/store/run/names.h"

namespace castscope::rules::dtype_position_loss {
namespace {

// Returns the distance between two neighbours at this size: 2^(exponent - significant bits + 1).
double spacing(double value, std::uint8_t dtype) {
  return std::max(1.0, std::ldexp(1, std::ilogb(value) + 1 - significant_bits(dtype)));
}

// Above this number float32 has whole numbers only (24 significant bits), so that being whole says nothing about
// counting.
constexpr double kNoFractions = 8388608;  // 2^23

bool loses_positions(const store::RunData& data, const store::Site& site, const store::ValueRange& range) {
  if (!store::is_autocasts(site.cause) || site.phase != lanes::Phase::kForward || !is_low(site.to)) return false;
  if (site.role == lanes::Role::kGradient || site.role == lanes::Role::kWeight || is_low(site.from)) return false;
  if (range.integer_tensors == 0 || range.most_integer <= largest_exact_integer(site.to)) return false;
  if (!range.integers_differ || range.beyond > 0) return false;
  if (range.most_integer >= kNoFractions || argument_text(data, site).find("mask") != std::string::npos) return false;
  if (std::fmod(range.most_integer, spacing(range.most_integer, site.to)) == 0) return false;
  return range.zeros * 2 <= range.elements;
}

constexpr std::string_view kSums[] = {"aten::add", "aten::add_", "aten::sub", "aten::sub_", "aten::rsub"};

// The operator brought integers to a half, which their largest are too large for.
bool promotes_positions(const store::OperatorUse& use, const store::ValueRange& range) {
  if (!is_forward(use) || !is_low(use.result) || range.integer_tensors == 0 || !range.integers_differ) return false;
  if (range.most_integer <= largest_exact_integer(use.result)) return false;
  // Pixels at a distance of 16 are exact in bfloat16; what is added to them (the corner of a box) then is not.
  return is_one_of(base_name(use.op), kSums) ||
         std::fmod(range.most_integer, spacing(range.most_integer, use.result)) != 0;
}

// Returns the names of the integer arguments; nothing where one of them is a mask.
std::set<std::string> integer_arguments(const store::OperatorUse& use) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < use.operands.size(); ++i) {
    const lanes::Operand& operand = use.operands[i];
    if (!is_wide_integer(operand.dtype) || !has_dimensions(operand)) continue;
    const std::string name = i < use.argument_names.size() ? use.argument_names[i] : "";
    if (name.find("mask") != std::string::npos) return {};
    names.insert(name.empty() ? std::to_string(operand.argument) : name);
  }
  return names;
}

struct Group {
  store::StackId stack = {};
  store::RegionId region = {};
  std::uint8_t to = 0;
  std::string op;
  std::set<std::string> arguments;
  std::uint64_t tensors = 0, elements = 0;
  double most = 0;
  bool promoted = false;  // integers beside a half; else autocast cast whole numbers of a float
};

std::string fix_for(const store::RunData& data, const Group& group) {
  const std::string dtype(store::dtype_name(group.to));
  if (group.promoted)
    return "Bring the " + dtype +
           " tensor to float32 before it meets the integers (anchors.float()): integers get the dtype of the floating "
           "tensor beside them. Cast what comes out where low precision will do.";
  return "Where these measure something (samples of sound, prices), normalise them to about 1 before. Where they are "
         "positions or times, compute with them in float32: in `with " +
         turned_off(data, group.region) +
         ":`, and cast what comes out (angles, embeddings); or multiply element by element (positions[:, None] * "
         "frequencies), which autocast leaves in float32.";
}

void add_finding(Inquiry& inquiry, const Group& group) {
  Finding& finding = inquiry.add(group.stack);
  const std::string to(store::dtype_name(group.to));
  const auto most = static_cast<std::int64_t>(group.most);
  const auto exact = static_cast<std::int64_t>(largest_exact_integer(group.to));
  const auto apart = static_cast<std::int64_t>(spacing(group.most, group.to));
  finding.title = short_name(group.op) + (group.promoted ? " brings integers up to " : " casts whole numbers up to ") +
                  std::to_string(most) + " to " + to + ", which does not tell those above " + std::to_string(exact) +
                  " apart";
  finding.evidence_number = {{"largest_integer", most},
                             {"largest_exact", exact},
                             {"spacing_at_largest", apart},
                             {"sampled_tensors", group.tensors},
                             {"sampled_elements", group.elements}};
  finding.evidence_text = {
      {"operator", group.op}, {"argument_names", absl::StrJoin(group.arguments, ", ")}, {"to_dtype", to}};
  finding.deep_only = true;
  finding.fix = fix_for(inquiry.data, group);
}

void add_range(Group& group, const store::ValueRange& range) {
  group.tensors += range.integer_tensors;
  group.elements += range.elements;
  group.most = std::max(group.most, range.most_integer);
}

void judge_positions(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  std::map<std::pair<Line, bool>, Group> groups;
  for (const store::ValueRange& range : data.value_ranges) {
    if (range.site == 0 || !loses_positions(data, data.sites[range.site], range)) continue;
    const store::Site& site = data.sites[range.site];
    Group& group = groups[{line_of(data, site.stack), false}];
    if (group.stack == 0) group.stack = site.stack, group.region = site.region, group.to = site.to, group.op = site.op;
    group.arguments.insert(argument_text(data, site));
    add_range(group, range);
  }
  for (const store::ValueRange& range : data.value_ranges) {
    if (range.use == 0 || !promotes_positions(data.operator_uses[range.use], range)) continue;
    const store::OperatorUse& use = data.operator_uses[range.use];
    const std::set<std::string> arguments = integer_arguments(use);
    if (arguments.empty()) continue;
    Group& group = groups[{line_of(data, use.stack), true}];
    if (group.stack == 0) group.stack = use.stack, group.to = use.result, group.op = use.op, group.promoted = true;
    group.arguments.insert(arguments.begin(), arguments.end());
    add_range(group, range);
  }
  for (const auto& [line, group] : groups) add_finding(inquiry, group);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "dtype-position-loss",
    .severity = "warning",
    .summary = "integers too large for low precision are cast to it, so that neighbours become equal",
    .thresholds = {},
    .sees = kOperators | kEvents,
    .explanation =
        {.what = "A tensor of whole numbers (positions, times, samples of sound) is cast to bfloat16 or float16 for an "
                 "operator, or a tensor of integers gets that dtype from a tensor beside it, and its largest are "
                 "beyond what that dtype can tell apart.",
         .why = "bfloat16 has 8 significant bits: above 256 neighbouring numbers fall together, at 65,536 "
                "512 of them at a time. float16 has 11 bits: above 2048. Rotary or sinusoidal embeddings "
                "made from such positions are the same for many of them, and no error is raised. Samples of "
                "sound or prices lose what is beyond two or three digits.",
         .example = R"(import torch

positions = torch.arange(65536.0, 65600.0)
frequencies = torch.rand(1, 16)
with torch.autocast("cpu", dtype=torch.bfloat16):
    angles = positions[:, None] @ frequencies  # 64 positions, one row over and over)",
         .fix = "Normalise what measures something. Compute what depends on positions in float32: `with "
                "torch.autocast(device, enabled=False):`, or element by element. Bring a half to float32 before it "
                "meets integers.",
         .fixed_example = R"(import torch

positions = torch.arange(65536.0, 65600.0)
frequencies = torch.rand(1, 16)
with torch.autocast("cpu", dtype=torch.bfloat16):
    angles = positions[:, None] * frequencies)",
         .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_positions,
};

}  // namespace castscope::rules::dtype_position_loss
