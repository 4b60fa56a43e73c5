// What stands between a job and a collector: whether the collector lets it in, and where its run waits meanwhile.
#pragma once

#include "server/cli/doctor/check.h"
#include "server/cli/recording/collector_access.h"

namespace castscope::cli {

// How much waits in the spool, and whether more could.
Check check_spool();

// Knocks at the collector, which makes no run of that. `collector` is as the user gave it.
Check check_collector(CollectorAddress collector);

}  // namespace castscope::cli
