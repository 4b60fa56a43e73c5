// Autocast's kernel for cuDNN's RNN (AutocastRNN.cpp) does not use cached_cast for the weights: at every call it copies
// all of them, in float16 whatever the region's dtype, into one buffer. One function of libtorch_cuda does that; ours
// stands before it.
#pragma once

namespace castscope::agent {

// Call once, when the agent starts. Does nothing where PyTorch was built without CUDA, or has no such function.
void watch_rnn_weights();

}  // namespace castscope::agent
