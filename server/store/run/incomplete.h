// Why a run is not complete: the closed list of reasons, and what is kept of each case. A gate, a report and the viewer
// show the word; beside it stands the sentence that was said.
//
//   REASON(enumerator, number, "word", "what it means")
//
// Numbers are never given again. kProcessRejected, kBatchRejected and kPartRejected are told by whoever checks what
// comes in, those from kRunDirectoryLost on by the relay; both are kept in the run file's table `incomplete`. The
// others follow from the file itself (completeness.h).
#pragma once

#include <cstdint>
#include <string>

#include "agent/lanes/closed_lists.h"

namespace castscope::store {

#define CASTSCOPE_INCOMPLETE_REASONS(REASON)                                                                      \
  REASON(kUnknown, 0, "unknown", "It is not known.")                                                              \
  REASON(kProcessRejected, 1, "process_rejected",                                                                 \
         "A process sent what makes no sense: nothing was taken from it after that, or nothing at all.")          \
  REASON(kBatchRejected, 2, "batch_rejected",                                                                     \
         "A batch was not taken: it named no process, came after the goodbye, or those before it never came.")    \
  REASON(kDamaged, 3, "damaged", "The run file was damaged or cut short after it was written.")                   \
  REASON(kRunNotEnded, 4, "run_not_ended", "The run still goes on, or its recorder died.")                        \
  REASON(kRunEndNotSeen, 5, "run_end_not_seen",                                                                   \
         "The end of the run, or of some process in it, was not seen; where it is known why, a notice says so.")  \
  REASON(kProcessVanished, 6, "process_vanished", "A process was killed, or is gone without an end mark.")        \
  REASON(kProcessStillRan, 7, "process_still_ran", "A process still ran when its record was closed.")             \
  REASON(kEventsMissing, 8, "events_missing", "A process published events that never arrived, and it has ended.") \
  REASON(kCountsMissing, 9, "counts_missing",                                                                     \
         "The events of a process tell more casts, cache hits or bytes than its counters, and it has ended.")     \
  REASON(kRunDirectoryLost, 10, "run_directory_lost",                                                             \
         "The folder in which processes leave their record was removed or replaced while the run was recorded.")  \
  REASON(kProcessMissing, 11, "process_missing",                                                                  \
         "A process told the relay that it has cast, and its record was never found.")                            \
  REASON(kProcessUnrecorded, 12, "process_unrecorded",                                                            \
         "A process could not be recorded, or not to its end: it said so, or its record was damaged.")            \
  REASON(kRanksMissing, 13, "ranks_missing", "Fewer ranks were seen than the job's launcher started here.")       \
  REASON(kPartRejected, 14, "part_rejected",                                                                      \
         "A process sent events, definitions or single counts that make no sense: these alone were not taken.")

CASTSCOPE_CLOSED_LIST(IncompleteReason, std::uint8_t, CASTSCOPE_INCOMPLETE_REASONS);

struct Incomplete {
  IncompleteReason reason{};
  std::string process;  // its key, also where it was never introduced; "" = the run as a whole
  std::string sentence;
  bool operator==(const Incomplete&) const = default;
};

}  // namespace castscope::store
