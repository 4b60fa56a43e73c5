// What the features hear of.
#pragma once

namespace castscope::observe {

// Fills wiring/features.h's table: once, before the first hook is live.
void listen(bool enforced);

}  // namespace castscope::observe
