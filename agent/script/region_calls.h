// Looks at what the interpreter is asked to run for the end of a region that an exception ends.
#pragma once

namespace castscope::script {

// `stack` holds values, as InterpreterState::run gets it.
void region_ends_by_exception(const void* stack);

}  // namespace castscope::script
