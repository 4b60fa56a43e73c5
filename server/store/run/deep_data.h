// What deep steps saw of a run (docs/decisions/deep-steps.md): operators and how values went from one to the other,
// facts, ranges of values. Part of RunData (run_data.h); ids are run-wide (ids.h).
//
// Counts here are of deep steps only, RunData::process(…).gauges tells how many those were; facts are counted always.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/lanes/format.h"
#include "server/store/run/ids.h"

namespace castscope::store {

struct OperatorUse {
  OperatorUseId id = {};
  StackId stack = {};
  ModuleId module = {};
  RegionId region = {};
  std::string op;    // "aten::add.Tensor"
  std::string node;  // backward node that called it, "" = none
  lanes::Phase phase{};
  std::uint8_t device = 0;       // c10::DeviceType
  std::uint8_t computed = 0xff;  // c10::ScalarType it computed in, 0xff = no floating tensor
  std::uint8_t result = 0xff;    // c10::ScalarType of its first tensor, 0xff = none
  std::uint16_t flags = 0;       // lanes::kUse…
  std::vector<lanes::Operand> operands;
  std::vector<std::string> argument_names = {};  // of the operands, in the schema; "" = not known
  bool is(std::uint16_t flag) const { return flags & flag; }
};

struct Flow {
  FlowId id = {};
  OperatorUseId from = {}, to = {};  // both known
  std::uint8_t argument = 0;         // of `to`
  std::uint8_t cast_to = 0xff;       // autocast cast the value to this on its way in, 0xff = it did not

  static constexpr const char* kName = "flow";
  static constexpr const char* kTable = "flows";
  static constexpr const char* kTimes = "times";
  template <typename Self, typename Column>
  static void columns(Self& flow, Column column) {
    column("from_operator_use", flow.from);
    column("to_operator_use", flow.to);
    column("argument_position", flow.argument);
    column("to_dtype", flow.cast_to);
  }
};

struct Fact {
  FactId id = {};
  StackId stack = {};
  std::uint32_t subject = 0;  // number of a site, an operator use or a region: lanes::subject_of(kind)
  lanes::FactKind kind{};
  std::uint16_t detail = 0;
  std::string text;

  static constexpr const char* kName = "fact";
  static constexpr const char* kTable = "facts";
  static constexpr const char* kTimes = "times";
  template <typename Self, typename Column>
  static void columns(Self& fact, Column column) {
    column("stack", fact.stack);
    column("subject", fact.subject);
    column("fact_kind", fact.kind);
    column("fact_detail", fact.detail);
    column("fact_text", fact.text);
  }
};

struct UseCount {  // (process, operator use)
  ProcessId process = {};
  OperatorUseId use = {};
  std::uint64_t times = 0, bytes = 0, ns = 0;  // ns: what it calls included; 0 when it was called once
};

// Samples of values, all together: of what a site cast, or of what an operator use gave back.
struct ValueRange {  // (process, site or use)
  ProcessId process = {};
  SiteId site = {};  // this or
  OperatorUseId use = {};
  std::uint64_t tensors = 0;   // looked at
  std::uint64_t elements = 0;  // sampled
  std::uint64_t not_finite = 0, zeros = 0, integers = 0;
  std::uint64_t beyond = 0;              // finite, and larger than the dtype cast to can hold
  std::uint64_t integer_tensors = 0;     // all of whose samples are integers
  std::uint64_t not_finite_tensors = 0;  // with a sample that is not finite
  double most = 0;                       // largest finite |x|
  double most_integer = 0;               // of the tensors that hold integers only
  bool integers_differ = false;          // … hold more than one size of number, zeros aside
  bool integers_rounded = false;         // … hold numbers that the half which they are brought to does not
  std::uint64_t first_not_finite = 0;    // when the first such tensor was looked at; 0 = none was, or it is not known
};

// How a process went about gradient scaling: each thread by the order of its own events, which is not judged where some
// of them were dropped (trackers/scaler_tracker.h).
struct ScalerUse {
  ProcessId process = {};
  std::uint64_t updates = 0, unscales = 0, not_finite = 0;  // unscales that found inf or NaN
  std::uint64_t scales = 0;                                 // in deep steps: losses that GradScaler scaled
  std::uint64_t longest_skips = 0;                          // updates in a row after such an unscale
  double first_scale = 0, last_scale = 0, least_scale = 0;  // 0 = not known
  FactId last_update = {};
  // Facts that stand in a place where they should not.
  FactId update_between_backwards = {};  // kUpdate after a backward whose gradients no optimizer step took
  // kOptimizerStep outside GradScaler.step, with gradients that nobody had unscaled, while GradScaler unscaled others
  // of the same backward, or had scaled the loss of each backward
  FactId step_past_scaler = {};
  FactId clip_before_unscale = {};  // kClip of gradients whose losses had all been scaled
};

}  // namespace castscope::store
