// An event of the timeline as the API tells it.
#pragma once

#include "server/store/run/run_data.h"
#include "server/timeline/timeline.h"
#include "server/web/api/routes.h"

namespace castscope::web {

// As far as the timeline knows it.
Json event_json(const store::RunData&, const timeline::FoundEvent&);

// With its stack, with what only the file has, and with the events that belong to it (links.h).
Json describe_fully(const RunSource&, const timeline::Timeline&, const store::RunData&, const timeline::FoundEvent&);

}  // namespace castscope::web
