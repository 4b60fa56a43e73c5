// The signal state that castscope inherits, and that the job gets as if castscope were not there.
#pragma once

namespace castscope::cli {

// Called by main() before anything else: sets aside what castscope cannot work with, and keeps it for the job. With an
// ignored SIGCHLD no child leaves a status, and a limit on file sizes would kill us.
void put_aside_inherited_signals();
// Before this process, or its child, becomes the job. May be called in a signal handler.
void give_back_inherited_signals();
// Returns whether castscope ignores SIGXFSZ although its parent did not.
bool ignores_file_size();

bool is_ignored(int signal);

}  // namespace castscope::cli
