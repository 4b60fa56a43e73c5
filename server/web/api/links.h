// Finds the events that one event belongs to: how a value went from operator to operator, and how a copy in autocast's
// cache was made and used.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/lanes/format.h"
#include "server/store/run/run_data.h"
#include "server/timeline/timeline.h"

namespace castscope::web {

enum class LinkKind {
  kFilledBy,    // of a cache hit: the cast whose copy it was given
  kServes,      // of a cast whose copy was kept: the first hit that was given it
  kConsumedBy,  // of a cast or hit: the operator that was given the copy
  kMadeBy,      // of a cast or operator: the operator that made what it was given
  kGoesTo,      // of an operator: the next operator that was given its result
};
std::string_view name(LinkKind);

struct Link {
  LinkKind kind{};
  timeline::FoundEvent event;
};

// Copies are followed exactly, by the tensor that was cast, as far as the file still has the events. Values are
// followed by the flows that deep steps saw (store::Flow), which tell of two uses of operators, not of two calls: the
// nearest call in the same step is taken. Operators have events in deep steps only.
// `kept`: the event as the file has it (event_in_file).
std::vector<Link> links_of(const std::string& run_file, const store::RunData&, const timeline::Timeline&,
                           const timeline::FoundEvent&, const std::optional<lanes::Event>& kept);

}  // namespace castscope::web
