// dtype-position-loss: autocast casts whole numbers that are too large for the low precision to tell apart: positions,
// ids, timestamps, samples of sound. Or an operator takes a tensor of integers together with a half: the integers get
// the dtype of the half by PyTorch's promotion, however large they are (a grid of pixels and the corners of a box). Or
// the code itself converts integers to a half, or counts in one (torch.arange(n, dtype=x.dtype)).
// Above 2^8 bfloat16 has only even numbers (8 significant bits), and float16 above
// 2^11 (11 bits). The distance doubles with each further power of two, so that 65,536 … 65,599 become one or two
// bfloat16 numbers.
//
// Not a finding: what is then only a measure (something is divided by it, or it is normalised by a number); masks,
// whose largest number means "none of this"; a tensor that is mostly zeros (counts of words, one-hot); and one all of
// whose sampled numbers are exact in the low precision (powers of two and their small multiples). Neither are weights,
// numbers that lie beyond the low precision's range (dtype-overflow), and one and the same number everywhere.
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
#include "server/rules/precision/positions.h"
#include "server/store/run/names.h"

namespace castscope::rules::dtype_position_loss {
namespace {

// Returns the names of the integer arguments; for an operator that counts, there are none.
std::set<std::string> integer_arguments(const store::OperatorUse& use) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < use.operands.size(); ++i) {
    const lanes::Operand& operand = use.operands[i];
    if (!is_wide_integer(operand.dtype) || !has_dimensions(operand)) continue;
    const std::string name = i < use.argument_names.size() ? use.argument_names[i] : "";
    names.insert(name.empty() ? std::to_string(operand.argument) : name);
  }
  return names;
}

// Returns the distance between two neighbours of this size in a half: 2^(exponent - significant bits + 1), at least 1.
double spacing(double value, std::uint8_t dtype) {
  return std::max(1.0, std::ldexp(1, std::ilogb(value) + 1 - significant_bits(dtype)));
}

struct Group {
  store::StackId stack = {};
  store::RegionId region = {};
  std::uint8_t to = 0;
  std::string op = {};
  std::set<std::string> arguments = {};
  std::uint64_t tensors = 0, elements = 0;
  double most = 0;
  IntegersAs as = IntegersAs::kCast;
};

std::string fix_for(const store::RunData& data, const Group& group) {
  const std::string dtype(store::dtype_name(group.to));
  switch (group.as) {
    case IntegersAs::kPromoted:
      return "Bring the " + dtype +
             " tensor to float32 before it meets the integers (anchors.float()): integers get the dtype of the "
             "floating tensor beside them. Cast what comes out where low precision will do.";
    case IntegersAs::kConverted:
      return "Convert them to float32 instead (.float()), compute with them there, and cast what comes out (angles, "
             "embeddings) where low precision will do.";
    case IntegersAs::kCounted:
      return "Count in float32 (dtype=torch.float32 in place of " + dtype +
             ", or of another tensor's dtype), compute with the numbers there, and cast what comes out (angles, "
             "embeddings) where low precision will do.";
    case IntegersAs::kCast:
      break;
  }
  return "Where these measure something (samples of sound, prices), normalise them to about 1 before. Where they are "
         "positions or times, compute with them in float32: in `with " +
         turned_off(data, group.region) +
         ":`, and cast what comes out (angles, embeddings); or multiply element by element (positions[:, None] * "
         "frequencies), which autocast leaves in float32.";
}

std::string_view verb(IntegersAs as) {
  switch (as) {
    case IntegersAs::kCast:
      return " casts whole numbers up to ";
    case IntegersAs::kPromoted:
      return " brings integers up to ";
    case IntegersAs::kConverted:
      return " converts integers up to ";
    case IntegersAs::kCounted:
      break;
  }
  return " counts up to ";
}

void add_finding(Inquiry& inquiry, const Group& group) {
  Finding& finding = inquiry.add(group.stack);
  const std::string to(store::dtype_name(group.to));
  const auto most = static_cast<std::int64_t>(group.most);
  const auto exact = static_cast<std::int64_t>(largest_exact_integer(group.to));
  const auto apart = static_cast<std::int64_t>(spacing(group.most, group.to));
  finding.title = short_name(group.op) + std::string(verb(group.as)) + std::to_string(most) +
                  (group.as == IntegersAs::kCounted ? " in " : " to ") + to + ", which does not tell those above " +
                  std::to_string(exact) + " apart";
  finding.evidence_number = {{"largest_integer", most},
                             {"largest_exact", exact},
                             {"spacing_at_largest", apart},
                             {"sampled_tensors", group.tensors}};
  // Of integers that an operator takes, only how many tensors were sampled is kept.
  if (group.elements > 0) finding.evidence_number.emplace_back("sampled_elements", group.elements);
  finding.evidence_text = {{"operator", group.op}, {"to_dtype", to}};
  if (!group.arguments.empty())
    finding.evidence_text.emplace_back("argument_names", absl::StrJoin(group.arguments, ", "));
  finding.deep_only = true;
  finding.fix = fix_for(inquiry.data, group);
}

void add_range(Group& group, const store::ValueRange& range) {
  group.tensors += range.integer_tensors;
  group.elements += range.elements;
  group.most = std::max(group.most, range.most_integer);
}

Group group_of(const store::RunData& data, const UseGraph& graph, const store::ValueRange& range, IntegersAs as) {
  if (range.site == 0) {
    const store::OperatorUse& use = graph.use(range.use);
    return {.stack = use.stack, .to = use.result, .op = use.op, .as = as};
  }
  const store::Site& site = data.sites[range.site];
  return {.stack = site.stack, .region = site.region, .to = site.to, .op = site.op, .as = as};
}

void judge_positions(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const UseGraph graph(data);
  std::map<std::pair<Line, IntegersAs>, Group> groups;
  for (const store::ValueRange& range : data.value_ranges) {
    const auto as = rounds_integers(data, graph, range);
    if (!as) continue;
    const store::StackId stack = range.site != 0 ? data.sites[range.site].stack : graph.use(range.use).stack;
    Group& group = groups[{line_of(data, stack), *as}];
    if (group.stack == 0) group = group_of(data, graph, range, *as);
    if (range.site != 0)
      group.arguments.insert(argument_text(data, data.sites[range.site]));
    else
      group.arguments.merge(integer_arguments(graph.use(range.use)));
    add_range(group, range);
  }
  for (const auto& [line, group] : groups) add_finding(inquiry, group);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "dtype-position-loss",
    .severity = "warning",
    .harm = Harm::kResults,
    .summary = "integers too large for low precision are cast to it, so that neighbours become equal",
    .thresholds = {},
    .sees = kOperators | kEvents,
    .explanation =
        {.what = "In an autocast region, a tensor of whole numbers (positions, times, samples of sound) is cast to "
                 "bfloat16 or float16 for an operator, or a tensor of integers gets that dtype from a tensor beside "
                 "it, or the code converts integers to it, or counts in it (torch.arange(n, dtype=x.dtype)), and the "
                 "largest are beyond what that dtype can tell apart.",
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
                "meets integers, and count in float32 where x.dtype may be a half.",
         .fixed_example = R"(import torch

positions = torch.arange(65536.0, 65600.0)
frequencies = torch.rand(1, 16)
with torch.autocast("cpu", dtype=torch.bfloat16):
    angles = positions[:, None] * frequencies)",
         .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_positions,
};

}  // namespace castscope::rules::dtype_position_loss
