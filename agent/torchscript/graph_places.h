// Gives the nodes of a graph, which is about to be run, what is known of their places: region and module.
#pragma once

namespace torch::jit {
struct Graph;
}

namespace castscope::script {

// Each operator that is in a region or of a module gets a source range of its own, by which it is known when it runs;
// and the end of each region, which has none.
void place_nodes(torch::jit::Graph&);

}  // namespace castscope::script
