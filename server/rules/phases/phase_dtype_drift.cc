// phase-dtype-drift: an operator with a weight computes in low precision in training, because of an autocast region,
// and in another dtype without grad mode, where there is no region (validation that forgot it) or one of another dtype.
//
// The rule compares the same code of the same module (Spot). It leaves out operators that run without grad mode as a
// part of training (forward of an own Function, of a checkpoint), operators that tracers and exporters run, a weight
// that was converted, an explicit enabled=False, which says what the code wants, and operators that raised. What runs
// before the process first calls backward is no evaluation: it builds a model (and asks it for the shapes that come
// out), or tries it out. Another object of the same class is another model, although it may be an average of this one's
// weights (EMA): a teacher, or a frozen backbone, may well be in float32.
//
// All that one function evaluates without the region is one finding, whatever the number of models.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "absl/strings/str_join.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/code_places.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::phase_dtype_drift {
namespace {

using store::OperatorUse;
using store::RunData;

std::set<std::uint8_t> weights_of(const OperatorUse& use) {
  std::set<std::uint8_t> dtypes;
  for (const lanes::Operand& operand : use.operands)
    if (operand.role == lanes::Role::kWeight) dtypes.insert(operand.dtype);
  return dtypes;
}

bool is_tool(const RunData& data, store::StackId stack) {
  for (const char* part : {"jit/", "onnx/", "export/", "fx/", "ao/", "quantization/", "utils/flop_counter"})
    if (is_within_torch(data, stack, part)) return true;
  return false;
}

struct SpotUses {
  std::vector<const OperatorUse*> training;
  ProcessUses evaluation;
};

std::map<Spot, SpotUses> spots_of(const RunData& data, const ProcessUses& uses) {
  std::map<Spot, SpotUses> spots;
  const OwnFunctionNames functions = own_function_names(data);
  for (const CountedUse& counted : uses) {
    const OperatorUse& use = *counted.use;
    if (weights_of(use).empty() || called_by_engine(data, use) || raised(use)) continue;
    if (use.is(lanes::kUseGradMode)) {
      spots[spot_of(data, use)].training.push_back(&use);
    } else if (!use.is(lanes::kUseBeforeTraining) && use.phase != lanes::Phase::kBackward &&
               !is_tool(data, use.stack) &&
               function_method(data, use.stack, functions).kind == FunctionMethod::Kind::kNone) {
      spots[spot_of(data, use)].evaluation.push_back(counted);
    }
  }
  return spots;
}

bool requires_grad(const OperatorUse& use) {
  return std::any_of(use.operands.begin(), use.operands.end(),
                     [](const lanes::Operand& operand) { return operand.flags & lanes::kOperandRequiresGrad; });
}

struct Drift {
  const OperatorUse *training = nullptr, *evaluation = nullptr;  // the first use of each
  std::uint64_t operators = 0, times = 0;
  std::set<std::string> names, models;
};

// Returns the outermost line of the user's, where the paths of evaluation and training part.
std::optional<store::CodeLocation> entry_of(const RunData& data, store::StackId stack) {
  std::optional<store::CodeLocation> entry;
  for (const store::CodeLocation& frame : frames_of(data, stack)) {
    if (is_module_call(data, frame))
      entry.reset();
    else if (!entry && store::is_users_own(frame, data.torch_folders))
      entry = frame;
  }
  return entry;
}

// The function that evaluates, by its file and name, and the dtype that it evaluates in.
using Cause = std::tuple<std::string, std::string, std::uint8_t>;

// Compares the phases of one process.
class Comparison {
 public:
  Comparison(const RunData& data, const ProcessUses& uses) : data_(data), spots_(spots_of(data, uses)) {}

  // Returns the drifts by their causes.
  std::map<Cause, Drift> drifts() const {
    std::map<Cause, Drift> found;
    for (const auto& [spot, uses] : spots_) {
      const OperatorUse* training = trained_low(uses);
      if (training == nullptr) continue;
      std::set<Cause> causes;
      for (const CountedUse& evaluation : uses.evaluation) {
        if (!drifted(uses, *training, *evaluation.use)) continue;
        const Cause cause = cause_of(*evaluation.use);
        add_evaluation(found[cause], *training, evaluation);
        causes.insert(cause);
      }
      for (const Cause& cause : causes) ++found[cause].operators;
    }
    return found;
  }

 private:
  const OperatorUse* trained_low(const SpotUses& uses) const {
    const auto found = std::find_if(uses.training.begin(), uses.training.end(), [&](const OperatorUse* use) {
      return is_cast_down(data_, *use) && requires_grad(*use);
    });
    return found == uses.training.end() ? nullptr : *found;
  }
  bool drifted(const SpotUses& uses, const OperatorUse& training, const OperatorUse& evaluation) const {
    if (std::any_of(uses.training.begin(), uses.training.end(),
                    [&](const OperatorUse* use) { return use->computed == evaluation.computed; }))
      return false;
    if (weights_of(evaluation) != weights_of(training)) return false;
    const bool none = region_of_device(data_, evaluation) == nullptr && evaluation.computed == kFloat;
    return none || is_cast_down(data_, evaluation);
  }
  Cause cause_of(const OperatorUse& evaluation) const {
    const store::CodeLocation at = entry_of(data_, evaluation.stack)
                                       .value_or(data_.user_location(evaluation.stack).value_or(store::CodeLocation()));
    return {at.file, at.function, evaluation.computed};
  }
  void add_evaluation(Drift& drift, const OperatorUse& training, const CountedUse& evaluation) const {
    drift.times += evaluation.times;
    if (training.module != 0) drift.models.insert(data_.modules[training.module].model());
    drift.names.insert(short_name(evaluation.use->op));
    if (drift.evaluation != nullptr && drift.evaluation->id < evaluation.use->id) return;
    drift.training = &training;
    drift.evaluation = evaluation.use;
  }

  const RunData& data_;
  const std::map<Spot, SpotUses> spots_;
};

void add_finding(Inquiry& inquiry, const Drift& drift) {
  const RunData& data = inquiry.data;
  const OperatorUse &training = *drift.training, &evaluation = *drift.evaluation;
  const std::string low(store::dtype_name(training.computed)), other(store::dtype_name(evaluation.computed));
  const std::string model = training.module == 0 ? "" : data.modules[training.module].model();
  Finding& finding = inquiry.add(evaluation.stack);
  const auto entered = entry_of(data, evaluation.stack), trained = entry_of(data, training.stack);
  const std::size_t more = drift.models.size() - std::min<std::size_t>(1, drift.models.size());
  finding.title = (model.empty() ? short_name(evaluation.op) : model) +
                  (more == 0 ? "" : " and " + counted(more, "more model")) + (more == 0 ? " computes" : " compute") +
                  " in " + other + " without grad mode" + (entered ? ", called at " + place_text(data, *entered) : "") +
                  ", and in " + low + " in training";
  finding.deep_only = true;
  finding.evidence_number = {{"operator_count", drift.operators}, {"calls", drift.times}};
  finding.evidence_text = {{"training_computed_in", low},
                           {"evaluation_computed_in", other},
                           {"operator_names", absl::StrJoin(drift.names, ", ")}};
  if (entered) finding.evidence_text.emplace_back("evaluation_entered_at", place_text(data, *entered));
  if (trained) finding.evidence_text.emplace_back("training_entered_at", place_text(data, *trained));
  for (const auto& at : {entered, trained})
    if (at) finding.related.push_back(*at);
  const std::string region =
      "torch.autocast(\"" + std::string(store::device_name(training.device)) + "\", dtype=torch." + low + ")";
  finding.fix = region_of_device(data, evaluation) == nullptr
                    ? "Evaluate in the same kind of region as training (with " + region +
                          "), or, if float32 is meant there, say so with torch.autocast(\"" +
                          std::string(store::device_name(training.device)) + "\", enabled=False)."
                    : "Give the region of the evaluation the dtype of training (" + region + ").";
}

void judge_drift(Inquiry& inquiry) {
  std::map<Line, Drift> by_place;
  for (const ProcessUses& uses : uses_by_process(inquiry.data)) {
    for (const auto& [cause, drift] : Comparison(inquiry.data, uses).drifts()) {
      const auto [at, fresh] = by_place.try_emplace(line_of(inquiry.data, drift.evaluation->stack), drift);
      if (!fresh) at->second.times += drift.times;
    }
  }
  for (const auto& [place, drift] : by_place) add_finding(inquiry, drift);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "phase-dtype-drift",
    .severity = "warning",
    .harm = Harm::kPrecision,
    .summary = "evaluation computes in another dtype than training does",
    .thresholds = {},
    .sees = kOperators,
    .explanation =
        {.what =
             "The same operators of the same model compute in low precision in training, in an autocast region, and "
             "in another dtype when grad mode is off (validation, sampling), where no such region is open.",
         .why = "What is measured is then not what is trained: values differ in the third digit, more where rounding "
                "decides (argmax, thresholds, stopping), and the evaluation takes the time and memory of float32.",
         .example = R"(import torch

model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(torch.randn(4, 8)).float().square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
with torch.no_grad():
    y = model(torch.randn(4, 8)))",
         .fix = "Open the same region around the evaluation. If it is meant to be in float32, say so: "
                "`with torch.autocast(…, enabled=False)`. An EMA copy is another model for this rule, which compares a "
                "model "
                "with itself: mind its region, too. Across two runs, `castscope diff` lists the operators that "
                "compute in another dtype.",
         .fixed_example = R"(import torch

model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(torch.randn(4, 8)).float().square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
    y = model(torch.randn(4, 8)))",
         .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_drift,
};

}  // namespace castscope::rules::phase_dtype_drift
