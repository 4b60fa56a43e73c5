#include "server/web/search/definition_words.h"

#include <algorithm>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/text/event_names.h"
#include "server/report/text/kernel_names.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/weights.h"
#include "server/store/run/names.h"
#include "server/web/runs/finding_places.h"
#include "server/web/runs/snapshot.h"
#include "server/web/search/query.h"

namespace castscope::web {
namespace {

constexpr std::uint8_t kNoDtype = 0xff;

using Take = DefinitionWords::Take;

template <typename Id>
void add_rule(std::map<Id, std::vector<std::string>>& rules, const std::vector<Id>& ids, const std::string& rule) {
  for (const Id id : ids) {
    std::vector<std::string>& of = rules[id];
    if (std::find(of.begin(), of.end(), rule) == of.end()) of.push_back(rule);
  }
}

template <typename Id>
void take_rules(const std::map<Id, std::vector<std::string>>& rules, Id id, Take take) {
  const auto found = rules.find(id);
  if (found == rules.end()) return;
  for (const std::string& rule : found->second) take(rule, true);
}

void take_word(SearchField field, std::string_view word, Take take) {
  take(word, true);
  for (const std::string& other : other_words(field, word)) take(other, false);
}

void take_dtype(SearchField field, std::uint8_t dtype, Take take) {
  if (dtype != kNoDtype) take_word(field, store::dtype_name(dtype), take);
}

// "aten::add.Tensor" is also add.Tensor, as the page has it, and add.
void take_operator(const std::string& op, Take take) {
  if (op.empty()) return;
  const bool is_atens = op.starts_with("aten::");
  const std::string brief = is_atens ? op.substr(6) : op;
  take(brief, true);
  if (is_atens) take(op, false);
  const std::size_t names = op.find("::"), dot = op.find('.');
  if (names == std::string::npos || dot == std::string::npos || dot < names) return;
  take(op.substr(0, dot), false);
  if (is_atens) take(op.substr(6, dot - 6), false);
}

// "src/net.py:12" is also net.py, and each with or without its line.
void take_file(const std::string& path, std::int64_t line, bool shown, Take take) {
  const std::string at = absl::StrCat(":", line);
  take(path, shown);
  take(path + at, shown);
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string end = path.substr(slash + 1);
    take(end, false);
    take(end + at, false);
  }
}

// Adds a part to a text of lines: each stands on a line of its own, so that no search finds the end of one and the
// beginning of the next.
void add_line(std::string& text, std::string_view part) {
  if (!part.empty()) absl::StrAppend(&text, std::string(part), "\n");
}

// What the page prints in no field of its own: "fp32→bf16", "float32 → bfloat16".
void add_dtypes(std::string& text, std::uint8_t from, std::uint8_t to) {
  const std::string before(store::dtype_name(from)), after(store::dtype_name(to));
  add_line(text, absl::StrCat(std::string(short_dtype(before)), "→", std::string(short_dtype(after))));
  add_line(text, absl::StrCat(before, " → ", after));
}

// All values of all fields, but for the lines that it was called from and the regions that it lies in: what is said of
// the outermost code would be said of everything.
template <typename Definition>
void add_values(std::string& text, const DefinitionWords& words, const Definition& of) {
  for (const FieldInfo& info : search_fields()) {
    if (info.field == SearchField::kStack || info.field == SearchField::kRegion) continue;
    const bool all = info.field != SearchField::kFile;  // the ends of a path stand in it already
    words.values(of, info.field, [&](std::string_view value, bool shown) {
      if (shown || all) add_line(text, value);
    });
  }
}

}  // namespace

DefinitionWords::DefinitionWords(const store::RunData& run, const report::Model& model) : run_(run) {
  if (model.findings.empty()) return;
  const Lines lines(run);
  for (const store::Finding& finding : model.findings) {
    const Lines::Ids* const ids = lines.of(finding);
    if (ids == nullptr) continue;
    add_rule(rules_of_sites_, ids->sites, finding.rule);
    add_rule(rules_of_uses_, ids->uses, finding.rule);
    add_rule(rules_of_regions_, ids->regions, finding.rule);
  }
}

void DefinitionWords::take_place(store::StackId stack, SearchField field, Take take) const {
  const auto take_line = [&](const store::CodeLocation& at, bool shown) {
    take_file(report::portable_path(at.file, run_.start.project()), at.line, shown, take);
  };
  if (field == SearchField::kStack && stack != 0) {
    for (const store::CodeLocation& frame : run_.stacks[stack].frames) take_line(frame, true);
    return;
  }
  const auto at = run_.user_location(stack);
  if (!at) return;
  if (field == SearchField::kFile) take_line(*at, true);
  if (field != SearchField::kFunction) return;
  take(at->function, true);
  // "forward" is found as Net.forward, too.
  if (const std::size_t dot = at->function.rfind('.'); dot != std::string::npos)
    take(at->function.substr(dot + 1), false);
}

void DefinitionWords::take_module(store::ModuleId id, SearchField field, Take take) const {
  if (id == 0) return;
  const store::Module& module = run_.modules[id];
  const std::string model = module.model();
  if (field == SearchField::kModel && !model.empty()) take(model, true);
  if (field != SearchField::kModule) return;
  // The module itself, and those that it is in: the outermost one is called as the model is.
  for (std::string_view path = module.path; !path.empty();) {
    take(path, true);
    const std::size_t dot = path.rfind('.');
    path = path.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
  if (!model.empty()) take(model, false);
}

void DefinitionWords::take_regions(store::RegionId id, Take take) const {
  // A region has fewer regions around it than there are regions.
  for (std::size_t n = 0; n < run_.regions.size(); ++n) {
    const store::Region* const region = run_.regions.find(id);
    if (region == nullptr) return;
    take(report::span_name(*region), true);
    if (const auto at = run_.user_location(region->stack)) {
      const std::string path = report::portable_path(at->file, run_.start.project());
      const std::string line = absl::StrCat(":", at->line);
      take(path + line, true);
      if (const std::size_t slash = path.rfind('/'); slash != std::string::npos)
        take(path.substr(slash + 1) + line, false);
    }
    id = region->parent;
  }
}

void DefinitionWords::values(const store::Site& site, SearchField field, Take take) const {
  switch (field) {
    case SearchField::kCause:
      return take_word(field, store::name(site.cause), take);
    case SearchField::kRole:
      return take(store::name(site.role), true);
    case SearchField::kDtype:
    case SearchField::kFrom:
    case SearchField::kTo:
      if (!site.has_dtypes()) return;
      if (field != SearchField::kTo) take_dtype(field, site.from, take);
      if (field == SearchField::kTo || (field == SearchField::kDtype && site.to != site.from))
        take_dtype(field, site.to, take);
      return;
    case SearchField::kOp:
      return take_operator(site.op, take);
    case SearchField::kArgument: {
      const std::string argument = report::argument_of(run_, site.call_site);
      if (argument.empty()) return;
      take(argument, true);
      return take(report::argument_words(run_, site), false);
    }
    case SearchField::kWeight:
      if (site.role != lanes::Role::kWeight) return;
      take(rules::weight_name(run_, site), true);
      return take(report::argument_of(run_, site.call_site), false);
    case SearchField::kRule:
      return take_rules(rules_of_sites_, site.id, take);
    case SearchField::kPhase:
      return take(store::name(site.phase), true);
    case SearchField::kCache:
      if (site.why != lanes::WhyNotCached::kNone) return take(store::name(site.why), true);
      if (!site.pass_through()) take(kWasKept, true);
      return;
    case SearchField::kRegion:
      return take_regions(site.region, take);
    default:
      take_module(site.module, field, take);
      return take_place(site.stack, field, take);
  }
}

void DefinitionWords::values(const store::OperatorUse& use, SearchField field, Take take) const {
  switch (field) {
    case SearchField::kDtype:
      take_dtype(field, use.computed, take);
      if (use.result != use.computed) take_dtype(field, use.result, take);
      for (const lanes::Operand& operand : use.operands) {
        // A Python number has no dtype of its own.
        if ((operand.flags & lanes::kOperandNumber) != 0) continue;
        if (operand.dtype != use.computed && operand.dtype != use.result) take_dtype(field, operand.dtype, take);
      }
      return;
    case SearchField::kOp:
      return take_operator(use.op, take);
    case SearchField::kRule:
      return take_rules(rules_of_uses_, use.id, take);
    case SearchField::kPhase:
      return take(store::name(use.phase), true);
    case SearchField::kRegion:
      return take_regions(use.region, take);
    default:
      take_module(use.module, field, take);
      return take_place(use.stack, field, take);
  }
}

void DefinitionWords::values(const store::Region& region, SearchField field, Take take) const {
  switch (field) {
    case SearchField::kDtype:
      return take_dtype(field, region.dtype, take);
    case SearchField::kRule:
      return take_rules(rules_of_regions_, region.id, take);
    case SearchField::kRegion:
      return take_regions(region.id, take);
    default:
      return take_place(region.stack, field, take);
  }
}

// A kernel is found by what it was launched for.
void DefinitionWords::values(const store::Kernel& kernel, SearchField field, Take take) const {
  if (field == SearchField::kOp) return take_operator(kernel.op, take);
  if (const store::Site* const site = run_.sites.find(kernel.site)) return values(*site, field, take);
  if (const store::OperatorUse* const use = run_.operator_uses.find(kernel.use)) return values(*use, field, take);
  take_module(report::module_of(run_, kernel), field, take);
  take_place(report::stack_of(run_, kernel), field, take);
}

void DefinitionWords::values(const store::Fact& fact, SearchField field, Take take) const {
  take_place(fact.stack, field, take);
}

std::string DefinitionWords::text(const store::Site& site) const {
  std::string text;
  add_line(text, report::span_name(run_, site));
  if (site.has_dtypes()) add_dtypes(text, site.from, site.to);
  if (site.module != 0) add_line(text, run_.modules[site.module].type);
  add_values(text, *this, site);
  return matchable(text);
}

std::string DefinitionWords::text(const store::OperatorUse& use) const {
  std::string text;
  add_line(text, name_of_use(use));
  add_line(text, use.node);
  if (use.module != 0) add_line(text, run_.modules[use.module].type);
  add_values(text, *this, use);
  return matchable(text);
}

std::string DefinitionWords::text(const store::Region& region) const {
  std::string text;
  add_line(text, report::span_name(region));
  add_values(text, *this, region);
  return matchable(text);
}

std::string DefinitionWords::text(const store::Kernel& kernel) const {
  std::string text;
  if (kernel.name != 0) add_line(text, report::demangled(run_.kernel_names[kernel.name]));
  add_line(text, report::purpose_of(run_, kernel));
  add_line(text, kernel.origin);
  const store::ModuleId module = report::module_of(run_, kernel);
  if (module != 0) add_line(text, run_.modules[module].type);
  add_values(text, *this, kernel);
  return matchable(text);
}

std::string DefinitionWords::text(const store::Fact& fact) const {
  std::string text;
  add_values(text, *this, fact);
  return matchable(text);
}

}  // namespace castscope::web
