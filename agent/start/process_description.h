// The attributes of a process (AttributeDefinition), which the report shows.
#pragma once

#include "agent/session/process.h"

namespace castscope::agent {

void describe_process(Recording& r);
// Notes that the version of Python is not known.
void notice_strange_python(Definitions& d);

}  // namespace castscope::agent
