// Whether a thread that begins to be looked at is inside an operator already, whose begin was not seen: what it calls
// there would pass for the user's own. From the native stack: each operator is called through at::_ops::NAME::call.
#pragma once

namespace castscope::operators {

// Call it from the begin of an operator, whose own at::_ops::NAME::call is on the stack. Unwinds; may throw
// std::bad_alloc.
bool is_inside_another_operator();
// In a forked child: whoever held the lock may not exist there.
void inside_operator_after_fork();

}  // namespace castscope::operators
