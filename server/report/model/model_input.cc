#include "server/report/model/model_input.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "server/report/text/words.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/evidence/places/sites.h"
#include "server/store/run/causes.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

using lanes::Operand;
using store::OperatorUse;

constexpr std::size_t kNone = ~std::size_t{0};

bool is_cast(const Operand& operand) { return operand.entered != rules::kNoDtype && operand.entered != operand.dtype; }

class Search {
 public:
  explicit Search(const store::RunData& data) : data_(data), reasons_(data), times_(rules::times_of_uses(data)) {
    for (const store::Flow& flow : data.flows)
      if (rules::is_forward(data.operator_uses[flow.from]) && rules::is_forward(data.operator_uses[flow.to])) {
        into_[flow.to].push_back(&flow);
        out_of_[flow.from].push_back(&flow);
      }
    has_modules_ = std::ranges::any_of(data.operator_uses,
                                       [&](const OperatorUse& use) { return use.module != 0 && is_work(use); });
    std::set<store::OperatorUseId> works;
    for (const OperatorUse& use : data.operator_uses)
      if (is_of_model(use)) works.insert(use.id);
    made_by_model_ = with_what_comes_of(std::move(works));
  }

  std::optional<ModelInput> found() const {
    for (const OperatorUse& use : data_.operator_uses) {
      if (!is_of_model(use)) continue;
      const std::size_t i = input_of(use);
      if (i == kNone) continue;
      ModelInput input{.dtype = use.operands[i].dtype, .first = place(use, i)};
      if (const store::Site* const annotated = rules::annotation_of(data_, use))
        input.first = place(*annotated), input.cast_to = annotated->to;
      else if (is_cast(use.operands[i]))
        input.cast_to = use.operands[i].entered;
      else
        look_beyond(use, i, input);
      return input;
    }
    return first_site();
  }

 private:
  // Operators that make a batch or fill parameters are not work.
  bool is_work(const OperatorUse& use) const {
    return times_[use.id] > 0 && rules::is_forward(use) && rules::in_autocast(data_, use) && !use.operands.empty() &&
           !rules::raised(use) && !rules::is_upkeep(use);
  }
  // A region may reach beyond the model (all of a job under apex's amp): where the run has modules, only their
  // operators are the model's.
  bool is_of_model(const OperatorUse& use) const { return is_work(use) && (use.module != 0 || !has_modules_); }

  // A batch that operators made before the model is an input too. Deep steps call it an activation, since they follow
  // values.
  bool is_input(const OperatorUse& use, const Operand& operand) const {
    if (operand.flags & (lanes::kOperandNumber | lanes::kOperandRequiresGrad)) return false;
    if (operand.role != lanes::Role::kActivation) return operand.role == lanes::Role::kInput;
    bool made = false;
    const auto flows = into_.find(use.id);
    for (const store::Flow* flow : flows == into_.end() ? std::vector<const store::Flow*>() : flows->second) {
      if (flow->argument != operand.argument) continue;
      made = true;
      if (made_by_model_.contains(flow->from)) return false;
    }
    return made;
  }

  // Returns the first input; an input that was cast comes before one that was not.
  std::size_t input_of(const OperatorUse& use) const {
    std::size_t found = kNone;
    for (std::size_t i = 0; i < use.operands.size(); ++i) {
      if (!is_input(use, use.operands[i])) continue;
      if (is_cast(use.operands[i])) return i;
      if (found == kNone) found = i;
    }
    return found;
  }

  ModelInput::Place place(const OperatorUse& use, std::size_t i) const {
    return {.at = data_.user_location(use.stack),
            .op = use.op,
            .argument = i < use.argument_names.size() ? use.argument_names[i] : "",
            .module = use.module};
  }

  ModelInput::Place place(const store::Site& site) const {
    return {.at = data_.user_location(site.stack),
            .op = site.op,
            .argument = argument_words(data_, site),
            .module = site.module};
  }

  void look_beyond(const OperatorUse& use, std::size_t i, ModelInput& input) const {
    input.why = reasons_.of(use, i);
    if (use.is(lanes::kUseConverts)) input.converted_to = use.result;
    const std::set<store::OperatorUseId> derived = with_what_comes_of({use.id});
    for (const OperatorUse& later : data_.operator_uses) {
      if (later.id == use.id || !is_work(later)) continue;
      for (std::size_t k = 0; k < later.operands.size(); ++k) {
        const Operand& operand = later.operands[k];
        const bool itself = is_input(later, operand) && operand.dtype == input.dtype;
        const bool comes_of_it = derived.contains(later.id) && operand.role == lanes::Role::kActivation;
        if (!is_cast(operand) || !rules::is_low(operand.entered) || (!itself && !comes_of_it)) continue;
        input.first_cast = place(later, k);
        input.first_cast_to = operand.entered;
        input.itself = itself;
        return;
      }
    }
  }

  // Adds the uses that take the results of these uses, directly or through others.
  std::set<store::OperatorUseId> with_what_comes_of(std::set<store::OperatorUseId> uses) const {
    std::vector<store::OperatorUseId> open(uses.begin(), uses.end());
    while (!open.empty()) {
      const auto flows = out_of_.find(open.back());
      open.pop_back();
      if (flows == out_of_.end()) continue;
      for (const store::Flow* flow : flows->second)
        if (uses.insert(flow->to).second) open.push_back(flow->to);
    }
    return uses;
  }

  std::optional<ModelInput> first_site() const {
    std::set<store::SiteId> casting;
    for (const store::SiteUse& use : data_.site_uses)
      if (use.counts.casts > 0) casting.insert(use.site);
    for (const store::Site& site : data_.sites) {
      if (site.role != lanes::Role::kInput || !store::is_autocasts(site.cause) || !casting.contains(site.id)) continue;
      return ModelInput{.dtype = site.from, .first = place(site), .cast_to = site.to};
    }
    return std::nullopt;
  }

  const store::RunData& data_;
  const rules::CastReasons reasons_;
  const store::Table<std::uint64_t, store::OperatorUse> times_;
  std::map<store::OperatorUseId, std::vector<const store::Flow*>> into_,
      out_of_;  // by the use that takes it, or made it
  bool has_modules_ = false;
  std::set<store::OperatorUseId> made_by_model_;
};

std::string dtype(std::uint8_t number) { return std::string(store::dtype_name(number)); }

std::string place_text(const store::RunData& data, const ModelInput::Place& at, bool with_argument) {
  std::string text = rules::short_name(at.op);
  if (with_argument && !at.argument.empty()) text += " " + at.argument;
  return text + ", " + place(data, at.at);
}

}  // namespace

std::optional<ModelInput> model_input(const store::RunData& data) { return Search(data).found(); }

std::string input_line(const store::RunData& data, const ModelInput& input) {
  if (input.cast_to != rules::kNoDtype)
    return "cast from " + dtype(input.dtype) + " to " + dtype(input.cast_to) + ", first for " +
           place_text(data, input.first, true);
  std::string text = dtype(input.dtype) + ", which ";
  if (input.why == rules::NotCast::kWithin)
    return text + place_text(data, input.first, false) + ", has cast by an operator that it calls";
  text += input.converted_to == rules::kNoDtype
              ? place_text(data, input.first, false) + ", takes as it is"
              : "the code converts to " + dtype(input.converted_to) + ", " + place(data, input.first.at);
  if (const std::string why = rules::words(input.why, input.dtype); !why.empty()) text += " (" + why + ")";
  if (!input.first_cast) return text;
  return text + "; " + (input.itself ? "it" : "what comes of it") + " is first cast to " + dtype(input.first_cast_to) +
         " for " + place_text(data, *input.first_cast, true);
}

}  // namespace castscope::report
