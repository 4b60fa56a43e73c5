// PyTorch's settings that decide what matrix products compute in, told when they are other than before.
#pragma once

namespace castscope::observe {
struct Recording;
}

namespace castscope::operators {

// To be called when cuBLAS was asked for something: then the settings count.
void tell_math_settings(observe::Recording& recording);

}  // namespace castscope::operators
