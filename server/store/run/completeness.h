// Whether all of a run was seen and taken. Report, check, SARIF, the page and the viewer all ask here; whoever finds
// another way in which a run can be incomplete adds it here, and all of them say so.
#pragma once

#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::store {

// Everything that keeps the run from being complete, each with its reason and its sentence. Dropped events and
// definitions without room are not among them: the run says how many there were, and no count depends on them.
std::vector<Incomplete> what_is_missing(const RunData&);

// The run is complete when nothing is missing.
inline bool is_complete(const RunData& data) { return what_is_missing(data).empty(); }

// Whether the reason is about the run as a whole and says nothing that a reader of its notices could act on.
constexpr bool is_about_the_end(IncompleteReason reason) {
  return reason == IncompleteReason::kRunNotEnded || reason == IncompleteReason::kRunEndNotSeen;
}

// Returns true if things may have happened of which the file has nothing, so that neither counts nor rules know of
// them. A process that was killed did no more than is known of it, and events that never arrived were counted.
bool leaves_casts_out(IncompleteReason reason);

}  // namespace castscope::store
