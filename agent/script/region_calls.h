// Of what the interpreter is asked to run: a region's end, where an exception brings it.
#pragma once

namespace castscope::script {

// `stack`: of values, as InterpreterState::run is given it.
void region_ends_by_exception(const void* stack);

}  // namespace castscope::script
