// castscope's log on stderr: what the collector does (CASTSCOPE_LOG=info, the default), and where the program's time
// goes (CASTSCOPE_LOG=debug).
#pragma once

namespace castscope::cli {

// Called before anything is logged.
void set_up_log();

}  // namespace castscope::cli
