// Autocast's kernel for cuDNN's RNN (AutocastRNN.cpp) has no cached_cast for the weights: it copies all of them, in
// float16 whatever the region's dtype, into one buffer at every call. One function of libtorch_cuda does that; ours
// stands before it.
#pragma once

namespace castscope::observe {

// Once, when the agent starts. Nothing happens where PyTorch was built without CUDA, or has no such function.
void watch_rnn_weights();

}  // namespace castscope::observe
