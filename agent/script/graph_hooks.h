// The functions that stand in place of the passes over graphs.
#pragma once

namespace castscope::script {

void* autocast_hook();
void* plan_hook();
void* insert_graph_hook();

}  // namespace castscope::script
