// Connects the features to the events that they hear of.
#pragma once

namespace castscope::agent {

// Fills wiring/features.h's table. Call it once, before the first hook is live.
void listen(bool enforced);

}  // namespace castscope::agent
