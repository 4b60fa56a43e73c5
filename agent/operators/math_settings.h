// PyTorch's settings that decide what matrix products compute in. They are told when they have changed.
#pragma once

namespace castscope::agent {
struct Recording;
}

namespace castscope::operators {

// Call it when cuBLAS was asked for something: the settings matter then.
void tell_math_settings(agent::Recording& recording);

}  // namespace castscope::operators
