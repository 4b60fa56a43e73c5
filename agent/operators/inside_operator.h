// Tells whether a thread that begins to be looked at is already inside an operator, whose begin was not seen: what that
// operator calls would pass for the user's own calls. The native stack tells: each operator is called through
// at::_ops::NAME::call.
#pragma once

namespace castscope::operators {

// Call it from the begin of an operator, whose own at::_ops::NAME::call is on the stack. It unwinds, and may throw
// std::bad_alloc.
bool is_inside_another_operator();
// Called in a forked child: the thread that held the lock may not exist there.
void inside_operator_after_fork();

}  // namespace castscope::operators
