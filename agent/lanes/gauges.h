// The gauges: what a process counts beside its casts. Each is listed once, here. From the list follow the words of the
// segment's header, the relay's snapshot, the wire (each gauge needs a field of its name in
// proto/castscope/v1/castscope.proto), the run file's columns and store::Gauges. All are absolute and begin at 0;
// written by any thread with atomic adds, off the hot path.
//
//   GAUGE(name, word of the segment, unit, "meaning")
//
// kTicks: of the segment's clock there, ns everywhere else. A new one is added at the end of the later ones: a
// segment's layout changes with it (kVersion), and a run file's tables (kFormat).
#pragma once

#include <cstdint>

#define CASTSCOPE_FIRST_GAUGES(GAUGE)                                                                     \
  GAUGE(cache_bytes, cache_bytes, kNumber, "bytes that autocast's cache holds")                           \
  GAUGE(cache_entries, cache_entries, kNumber, "copies that it holds")                                    \
  GAUGE(cache_peak_bytes, cache_peak_bytes, kNumber, "the most bytes that it held")                       \
  GAUGE(cache_peak_entries, cache_peak_entries, kNumber, "the most copies that it held")                  \
  GAUGE(cache_clears, cache_clears, kNumber, "how often it was cleared")                                  \
  GAUGE(present_step, present_step, kNumber, "number of the present step")                                \
  GAUGE(lost_definitions, lost_definitions, kNumber, "definitions that did not fit into the segment")     \
  GAUGE(deep_steps, deep_steps, kNumber, "steps, or parts of one, in which every operator was looked at") \
  GAUGE(deep_operators, deep_operators, kNumber, "operators looked at")                                   \
  GAUGE(deep_ns, deep_ticks, kTicks, "time spent looking")

#define CASTSCOPE_LATER_GAUGES(GAUGE)                                                                            \
  GAUGE(gpu_steps, gpu_steps, kNumber, "deep steps whose kernels were timed")                                    \
  GAUGE(gpu_records, gpu_records, kNumber, "records of kernels, copies and sets that came")                      \
  GAUGE(gpu_lost, gpu_lost, kNumber, "of them that CUPTI dropped, or never delivered")                           \
  GAUGE(gpu_unplaced, gpu_unplaced, kNumber, "that came, and whose operator was not known any more")             \
  GAUGE(gpu_event_steps, gpu_event_steps, kNumber, "deep steps in which only casts were timed, by CUDA events")  \
  GAUGE(gpu_casts_untimed, gpu_casts_untimed, kNumber, "launches of casts in those steps that were not timed")   \
  GAUGE(first_gap_plus_one, first_gap_plus_one, kNumber,                                                         \
        "1 + the first step that was not looked at to its end; 0 = each was")                                    \
  GAUGE(new_code_left_out, new_code_left_out, kNumber, "how often the budget did not allow to look at new code") \
  GAUGE(training_steps, training_steps, kNumber, "steps that an optimizer or castscope.step() ended")            \
  GAUGE(spans, spans, kNumber, "how often castscope began to watch")                                             \
  GAUGE(watched_ns, watched_ns, kNumber, "how long it watched, in the spans that are over")                      \
  GAUGE(span_since_ns, span_since_ns, kNumber, "when the open span began, since the record did; 0 = none is open")

#define CASTSCOPE_GAUGES(GAUGE) CASTSCOPE_FIRST_GAUGES(GAUGE) CASTSCOPE_LATER_GAUGES(GAUGE)

namespace castscope::lanes {

// Since the segment's layout had the version 8, and the run file's tables the format 6: both numbers rise with each.
#define CASTSCOPE_ONE_GAUGE(...) +1
inline constexpr std::uint32_t kAddedGauges = CASTSCOPE_GAUGES(CASTSCOPE_ONE_GAUGE) - 16;
#undef CASTSCOPE_ONE_GAUGE

}  // namespace castscope::lanes
