// castscope's log on stderr: what the collector does (CASTSCOPE_LOG=info, as it is without), and where the program's time
// goes (CASTSCOPE_LOG=debug).
#pragma once

namespace castscope::cli {

// Before anything is logged.
void set_up_log();

}  // namespace castscope::cli
