#include "server/rules/evidence/error_facts.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_join.h"
#include "server/rules/evidence/bans.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/fsdp_casts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/enforced_decisions.h"
#include "server/rules/evidence/operators/low_kernels.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/store/run/names.h"

namespace castscope::rules {
namespace {

bool says(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// at::autocast::prioritize, which finds the widest of the arguments' dtypes, raises with this text.
constexpr std::string_view kMixedHalvesText = "Unexpected floating ScalarType in at::autocast::prioritize";

bool is_about_dtypes(std::string_view text, const store::OperatorUse* use) {
  const std::set<std::uint8_t> named = dtypes_named(text);
  const bool half_named = std::any_of(named.begin(), named.end(), is_low);
  if (named.size() > 1 && half_named && says(text, "type")) return true;
  // "Expected self.dtype to be equal to src.dtype": names none
  return (says(text, "dtype") || says(text, "scalar type")) && use != nullptr && mixes_halves(*use);
}

// Returns the low dtype that all of the operator's floating arguments came in; kNoDtype when they did not share one.
std::uint8_t low_dtype_got(const store::OperatorUse& use) {
  std::uint8_t low = kNoDtype;
  for (const lanes::Operand& operand : use.operands) {
    if (!is_floating_tensor(operand)) continue;
    const std::uint8_t dtype = dtype_entered(operand);
    if (!is_low(dtype) || (low != kNoDtype && dtype != low)) return kNoDtype;
    low = dtype;
  }
  return low;
}

// PyTorch's kernels word it in these ways: "\"svd_cpu\" not implemented for 'BFloat16'", "Unsupported dtype Half", ….
constexpr std::string_view kNoKernelTexts[] = {"not implemented for '", "Unsupported dtype ",
                                               "Low precision dtypes not supported", "support tensors of type: "};

// The text says that there is no kernel; or the operator is known to have none, and the text is about dtypes ("input
// tensor must be either float or double dtype").
bool is_about_missing_kernel(std::string_view text, const store::OperatorUse* use) {
  const std::set<std::uint8_t> named = dtypes_named(text);
  const bool low_named = named.size() == 1 && is_low(*named.begin());
  const bool said = std::ranges::any_of(kNoKernelTexts, [&](std::string_view part) { return says(text, part); });
  if (use == nullptr) return said && low_named;
  const std::uint8_t got = low_dtype_got(*use);
  if (got == kNoDtype) return false;
  return (said && low_named) || (raises_in(use->op, use->device, got) && (says(text, "type") || !named.empty()));
}

// Where a policy is enforced, its rules are the list.
bool is_unlisted(const store::RunData& data, const store::OperatorUse& use) {
  if (!is_on_no_list(use) || use.is(lanes::kUseWrites) || !in_autocast(data, use)) return false;
  const EnforcedDecisions enforced(data);
  const policy::Decision* const decided = enforced.of(use);
  return decided == nullptr || !decided->ruled;
}

// The cache served a copy at this line in another dtype than that of the region.
bool got_wrong_copy(const store::RunData& data, const Line& line) {
  return std::any_of(data.site_uses.begin(), data.site_uses.end(), [&](const store::SiteUse& of) {
    const store::Site& site = data.sites[of.site];
    if (site.cause != lanes::Cause::kAutocast || of.counts.hits == 0 || site.region == 0) return false;
    const store::Region& region = data.regions[site.region];
    return region.device == site.device && region.dtype != site.to && line_of(data, site.stack) == line;
  });
}

bool is_of_fsdp(const store::RunData& data, const store::Fact& error) {
  return std::any_of(data.fact_counts.begin(), data.fact_counts.end(), [&](const store::FactCount& count) {
    return count.fact == error.id && count.times > 0 && fsdp_and_autocast_differ(data, count.process);
  });
}

// The interpreter of TorchScript raises an operator's error once more, at the line that called the script.
constexpr std::string_view kInterpreterText = "The following operation failed in the TorchScript interpreter";
constexpr std::size_t kCutFrom = 450;  // the agent cuts long texts, so that the quoted error may be missing

bool is_raised_anew(const store::RunData& data, const store::Fact& error) {
  if (!error.text.starts_with(kInterpreterText)) return false;
  return std::ranges::any_of(data.facts, [&](const store::Fact& other) {
    return other.kind == lanes::FactKind::kError && other.id != error.id && !other.text.starts_with(kInterpreterText) &&
           (says(error.text, other.text) || error.text.size() >= kCutFrom);
  });
}

// An operator whose body is Python code raises within that body; its arguments were given at the call of the operator.
store::StackId place_of(const store::RunData& data, const store::Fact& error) {
  if (error.subject == 0 || data.operator_uses[store::OperatorUseId(error.subject)].op.starts_with("aten::"))
    return error.stack;
  return data.operator_uses[store::OperatorUseId(error.subject)].stack;
}

// `times` says how often each fact was seen.
std::vector<ErrorAt> errors(const store::RunData& data, const store::Table<std::uint64_t, store::Fact>& times,
                            const std::function<bool(const store::Fact&)>& belongs) {
  std::map<Line, ErrorAt> places;
  for (const store::Fact& fact : data.facts) {
    if (fact.kind != lanes::FactKind::kError || times[fact.id] == 0 || !belongs(fact)) continue;
    const store::StackId stack = place_of(data, fact);
    ErrorAt& at = places[line_of(data, stack)];
    if (at.times == 0) at.stack = stack, at.text = fact.text;
    if (at.use == 0) at.use = store::OperatorUseId(fact.subject);
    at.times += times[fact.id];
  }
  std::vector<ErrorAt> all;
  for (auto& [line, at] : places) all.push_back(std::move(at));
  return all;
}

}  // namespace

std::set<std::uint8_t> dtypes_named(std::string_view text) {
  static const std::map<std::string_view, std::uint8_t> kWords = {
      {"BFloat16", kBrain}, {"bfloat16", kBrain}, {"Half", kHalf},     {"half", kHalf},
      {"float16", kHalf},   {"Float", kFloat},    {"float", kFloat},   {"float32", kFloat},
      {"Double", kDouble},  {"double", kDouble},  {"float64", kDouble}};
  std::set<std::uint8_t> named;
  // "CPUBFloat16Type", "torch.cuda.HalfTensor"
  const auto without_type = [](std::string_view word) {
    for (const std::string_view device : {"CPU", "CUDA", "XPU", "MPS"})
      if (word.starts_with(device)) word.remove_prefix(device.size());
    for (const std::string_view what : {"Type", "Tensor"})
      if (word.ends_with(what)) word.remove_suffix(what.size());
    return word;
  };
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && in_word(text[end])) ++end;
    if (const auto word = kWords.find(without_type(text.substr(begin, end - begin))); word != kWords.end())
      named.insert(word->second);
    begin = end + 1;
  }
  return named;
}

bool mixes_halves(const store::OperatorUse& use) {
  std::set<std::uint8_t> dtypes;
  for (const lanes::Operand& operand : use.operands)
    if (is_floating_tensor(operand)) dtypes.insert(operand.dtype);
  return dtypes.size() > 1 && std::any_of(dtypes.begin(), dtypes.end(), is_low);
}

std::string words_of(const std::vector<lanes::Operand>& operands) {
  return absl::StrJoin(operands, ", ", [](std::string* words, const lanes::Operand& operand) {
    *words += store::dtype_name(operand.dtype);
    if (operand.role != lanes::Role::kUnknown) (*words += " ") += store::name(operand.role);
  });
}

namespace {

// The operator was also called with such arguments and returned, so the error in its body was caught there (an import
// on its first call, for instance).
bool came_back(const store::RunData& data, const store::OperatorUse& raised) {
  const auto same = [&](const lanes::Operand& a, const lanes::Operand& b) {
    return a.argument == b.argument && a.dtype == b.dtype;
  };
  return std::any_of(data.use_counts.begin(), data.use_counts.end(), [&](const store::UseCount& count) {
    const store::OperatorUse& use = data.operator_uses[count.use];
    return count.times > 0 && use.result != kNoDtype && use.stack == raised.stack && use.op == raised.op &&
           std::equal(use.operands.begin(), use.operands.end(), raised.operands.begin(), raised.operands.end(), same);
  });
}

}  // namespace

ErrorTopic topic_of(const store::RunData& data, const store::Fact& error) {
  if (error.kind != lanes::FactKind::kError) return ErrorTopic::kOther;
  if (is_raised_anew(data, error)) return ErrorTopic::kElsewhere;
  if (says(error.text, kMixedHalvesText)) return ErrorTopic::kMixedHalves;
  if (ban_in(data, error.text)) return ErrorTopic::kBanned;
  const store::OperatorUse* use =
      error.subject == 0 ? nullptr : &data.operator_uses[store::OperatorUseId(error.subject)];
  const bool custom = use != nullptr && !use->op.starts_with("aten::") && mixes_halves(*use);
  if (custom && is_unlisted(data, *use))  // whatever its kernel says
    return came_back(data, *use) ? ErrorTopic::kElsewhere : ErrorTopic::kNotListed;
  if (is_about_missing_kernel(error.text, use)) return ErrorTopic::kNoKernel;
  if (!is_about_dtypes(error.text, use)) return ErrorTopic::kOther;
  if (got_wrong_copy(data, line_of(data, error.stack))) return ErrorTopic::kElsewhere;
  if (is_of_fsdp(data, error)) return ErrorTopic::kElsewhere;
  if (use == nullptr) return ErrorTopic::kMismatch;
  if (use->is(lanes::kUseSiblingEligible) && in_autocast(data, *use)) return ErrorTopic::kElsewhere;
  return is_unlisted(data, *use) ? ErrorTopic::kNotListed : ErrorTopic::kMismatch;
}

std::vector<ErrorAt> errors_about(const store::RunData& data, ErrorTopic topic) {
  return errors(data, times_of_facts(data), [&](const store::Fact& fact) { return topic_of(data, fact) == topic; });
}

std::vector<ErrorAt> errors_saying(const store::RunData& data, std::string_view part,
                                   const std::function<bool(store::ProcessId process)>& counts) {
  store::Table<std::uint64_t, store::Fact> times(data.facts.size());
  for (const store::FactCount& count : data.fact_counts)
    if (counts(count.process)) times[count.fact] += count.times;
  return errors(data, times, [&](const store::Fact& fact) { return says(fact.text, part); });
}

std::string operator_of(const store::RunData& data, const ErrorAt& at) {
  return at.use == 0 ? "an operator" : short_name(data.operator_uses[at.use].op);
}

void add_error_evidence(const store::RunData& data, const ErrorAt& at, Finding& finding) {
  finding.evidence_number.emplace_back("error_count", at.times);
  finding.evidence_text.emplace_back("error_message", at.text);
  if (at.use == 0) return;
  const store::OperatorUse& use = data.operator_uses[at.use];
  finding.evidence_text.emplace_back("operator", use.op);
  finding.evidence_text.emplace_back("argument_dtypes", words_of(use.operands));
  const store::Region* region = region_of_device(data, use);
  finding.evidence_text.emplace_back("autocast_state", region == nullptr ? "no region"
                                                       : region->enabled ? std::string(store::dtype_name(region->dtype))
                                                                         : "disabled");
}

}  // namespace castscope::rules
