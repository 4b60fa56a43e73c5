// The collector reads here what the goodbyes of relays say of the job's end, and puts it together.
#pragma once

#include <string>
#include <vector>

#include "proto/castscope/v1/castscope.pb.h"
#include "server/store/run/run_sink.h"

namespace castscope::ingest {

// Returns false if there is no such exit code, or no such signal.
bool tells_possible_end(const v1::Goodbye& goodbye);

// Returns what a goodbye tells of the job's end, as far as it is possible. It names no relay.
store::RelayState ending_of(const v1::Goodbye& goodbye);

// Returns why the run is not complete, by what a relay never saw.
store::IncompleteReason missing_reason(const v1::Missing& missing);

// Returns how a goodbye differs from the one that the relay said before, in words that follow "says goodbye"; "" = it
// is the same.
std::string other_goodbye(const v1::Goodbye& goodbye, const store::RelayState& said);

// Returns what the relays say together of the job's end: one that a signal ended counts before one that failed, and
// that before one that went well. Of those that say -1, none is known.
store::RelayState end_of_job(const std::vector<store::RelayState>& relays);

// Returns a sentence where one of the relays did not say goodbye, or left processes running; "" = they saw the job end.
std::string what_is_unseen(const std::vector<store::RelayState>& relays);

}  // namespace castscope::ingest
