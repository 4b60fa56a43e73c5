// What the report says of a process: its attributes (AttributeDefinition).
#pragma once

#include "agent/session/process.h"

namespace castscope::observe {

void describe_process(Recording& r);
// … whose Python is of a version that is not known.
void notice_strange_python(Definitions& d);

}  // namespace castscope::observe
