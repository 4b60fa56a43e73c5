// thread-lost-region: a thread without a region computes operators in float32 that autocast would cast, and every time
// it is seen another thread is in a region: it was started, or given its work, from within that region. Autocast is a
// state of each thread, and a new thread begins without it.
//
// Not a finding: a thread that works independently (an evaluation, a loader that multiplies matrices) is seen outside
// the others' regions too; and a thread that opens a region of its own, even a disabled one, says what it wants.
#include <algorithm>
#include <map>

#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::thread_lost_region {
namespace {

// Returns the function that the thread runs: the outermost one that is the user's own, or else its innermost frame.
Line thread_function(const store::RunData& data, store::StackId stack) {
  const auto& frames = frames_of(data, stack);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    if (store::is_users_own(*frame, data.torch_folders)) return {frame->file + ":" + frame->function, 0};
  return frames.empty() ? Line() : Line{frames.front().file, frames.front().line};
}

// Nobody started the program's first thread: its stack begins with a module's code.
bool is_started_thread(const store::RunData& data, store::StackId stack) {
  const auto& frames = frames_of(data, stack);
  if (frames.empty() || data.stacks[stack].truncated) return false;
  const std::string& function = frames.back().function;
  return function != "<module>" && function != "_run_module_as_main";
}

struct Thread {
  std::vector<const store::OperatorUse*> lost;  // in the order in which they were first seen
  bool on_its_own = false;
  std::uint64_t operators = 0;
};

// The lost operators at one place, of all processes.
struct Lost {
  store::StackId stack = {};
  const store::Region* region = nullptr;
  std::vector<const store::OperatorUse*> uses;
  std::uint64_t operators = 0;
};

// Returns the regions of the thread's process that have autocast on for this device: one of them was open meanwhile.
std::vector<const store::Region*> regions_of_others(const store::RunData& data, store::ProcessId process,
                                                    std::uint8_t device) {
  std::vector<const store::Region*> regions;
  for (const store::RegionUse& use : data.region_uses) {
    const store::Region& region = data.regions[use.region];
    if (use.process == process && region.enabled && region.device == device) regions.push_back(&region);
  }
  return regions;
}

// Returns the region that was open, if all of them were opened at one place.
const store::Region* open_region(const store::RunData& data, const std::vector<const store::Region*>& regions) {
  const store::Region* only = nullptr;
  for (const store::Region* region : regions) {
    if (region->parent != 0) continue;
    if (only != nullptr && line_of(data, only->stack) != line_of(data, region->stack)) return nullptr;
    only = region;
  }
  return only;
}

bool has_line(const store::RunData& data, store::StackId stack) {
  const auto& frames = frames_of(data, stack);
  return std::any_of(frames.begin(), frames.end(),
                     [&](const store::CodeLocation& frame) { return store::is_users_own(frame, data.torch_folders); });
}

std::string advice(bool by_amp_handle) {
  const std::string where =
      by_amp_handle
          ? "Start the thread after amp.init() and under `castscope run --apex`, where threads that are started "
            "then cast too; or open a region of torch.autocast inside the function that the thread runs"
          : "Open the region inside the function that the thread runs (or decorate it with torch.autocast)";
  return where +
         ": the state of autocast belongs to one thread. The function then computes in the region's dtype. Where "
         "float32 "
         "is meant, say so by torch.autocast(…, enabled=False).";
}

void add_finding(Inquiry& inquiry, const Lost& lost) {
  const store::RunData& data = inquiry.data;
  const store::OperatorUse& first = *lost.uses.front();
  const store::Region* region = lost.region;
  Finding& finding = inquiry.add(lost.stack);
  finding.title = first.op + " runs in float32 in a thread that autocast does not reach" +
                  (region == nullptr ? std::string()
                                     : ": the region opened at " + line_of(data, region->stack).short_text() +
                                           " belongs to another thread");
  finding.evidence_number = {{"operators_not_cast", lost.operators}};
  finding.evidence_text = {{"first_operator", first.op}, {"operator_names", operators_text(lost.uses)}};
  if (region != nullptr) {
    finding.evidence_text.emplace_back("region_opened_at", place_text(data, line_of(data, region->stack)));
    add_related(finding, data, region->stack);
  }
  finding.deep_only = true;
  finding.fix = advice(region != nullptr && amp_handle_of(data, *region));
}

// By process and function: the operators of the threads that ran it.
using Threads = std::map<std::pair<store::ProcessId, Line>, Thread>;
Threads threads_without_region(const store::RunData& data) {
  Threads threads;
  for (const store::UseCount& count : data.use_counts) {
    const store::OperatorUse& use = data.operator_uses[count.use];
    if (count.times == 0 || use.region != 0 || use.phase == lanes::Phase::kBackward || !is_uncast_work(use)) continue;
    if (!is_started_thread(data, use.stack)) continue;
    Thread& thread = threads[{count.process, thread_function(data, use.stack)}];
    if (!use.is(lanes::kUseOthersOpen)) {
      thread.on_its_own = true;
      continue;
    }
    thread.lost.push_back(&use);
    thread.operators += count.times;
  }
  return threads;
}

void judge_threads(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  std::map<Line, Lost> places;
  for (const auto& [key, thread] : threads_without_region(data)) {
    if (thread.lost.empty() || thread.on_its_own) continue;
    const store::OperatorUse& first = *thread.lost.front();
    const auto regions = regions_of_others(data, key.first, first.device);
    if (regions.empty()) continue;
    // Where the thread runs no code of the user's own (target=model), the finding stands at the region.
    const store::StackId stack = has_line(data, first.stack) ? first.stack : regions.front()->stack;
    Lost& lost = places[line_of(data, stack)];
    if (lost.stack == 0) lost.stack = stack, lost.region = open_region(data, regions);
    lost.operators += thread.operators;
    lost.uses.insert(lost.uses.end(), thread.lost.begin(), thread.lost.end());
  }
  for (const auto& [at, lost] : places) add_finding(inquiry, lost);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "thread-lost-region",
    .severity = "warning",
    .harm = Harm::kPrecision,
    .summary = "a thread started inside a region computes without autocast",
    .thresholds = {},
    .sees = kOperators | kEvents,
    .explanation = {.what = "A thread runs operators that autocast would cast, in no region, while another is in one.",
                    .why =
                        "The state of autocast belongs to the thread that entered the region. A thread that is started "
                        "inside, or takes its work from there, begins without: it computes in float32.",
                    .example = R"(from concurrent.futures import ThreadPoolExecutor

import torch

layer = torch.nn.Linear(32, 32)

def work():
    return layer(torch.randn(2, 32))

with torch.autocast("cpu", dtype=torch.bfloat16):
    y = ThreadPoolExecutor().submit(work).result()
print(y.dtype)  # torch.float32)",
                    .fix = "Open the region in the thread's own function, which then computes in the region's dtype.",
                    .fixed_example = R"(from concurrent.futures import ThreadPoolExecutor

import torch

layer = torch.nn.Linear(32, 32)

def work():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return layer(torch.randn(2, 32))

with torch.autocast("cpu", dtype=torch.bfloat16):
    y = ThreadPoolExecutor().submit(work).result()
print(y.dtype)  # torch.bfloat16)",
                    .links = "https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-multiple-gpus"},
    .judge = judge_threads,
};

}  // namespace castscope::rules::thread_lost_region
