// Gives the nodes of a graph, which is about to be run, their places as far as known: region and module.
#pragma once

namespace torch::jit {
struct Graph;
}

namespace castscope::script {

// Gives each operator that is in a region or belongs to a module a source range of its own, by which it is recognized
// when it runs. The end of each region, which has no range, gets one, too.
void place_nodes(torch::jit::Graph&);

}  // namespace castscope::script
