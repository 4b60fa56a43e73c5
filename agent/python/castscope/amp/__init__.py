"""For code written against apex.amp: the same names, on PyTorch's autocast and GradScaler.

    from castscope import amp                              # was: from apex import amp

    handle = amp.init()
    for input, target in data:
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        with handle.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()

Which operator works in which precision is as autocast on the device has it, RNN cells and layers included. Unlike apex,
it patches nothing and is of the thread that called init(). `castscope run --apex` makes it what apex was: code that
imports apex runs unchanged, apex's lists decide, and threads that are started after init() cast, too.

The lower precision is float16 on CUDA and bfloat16 on the CPU. With float16 losses are scaled. With bfloat16, which has
the range of float32, `scale_loss` gives the loss itself and no step is left out.

apex's later interface (initialize, scale_loss, master_params, state_dict) is there for the levels O0 and O1:
levels.py.
"""

from castscope.amp.handle import AmpHandle, NoOpHandle, init
from castscope.amp.levels import initialize, load_state_dict, master_params, scale_loss, state_dict
from castscope.amp.optimizer import OptimWrapper
from castscope.annotations import (
                                   float_function,
                                   half_function,
                                   promote_function,
                                   register_float_function,
                                   register_half_function,
                                   register_promote_function,
)

__all__ = ["init", "AmpHandle", "NoOpHandle", "OptimWrapper", "initialize", "scale_loss", "master_params", "state_dict",
           "load_state_dict", "half_function", "float_function", "promote_function", "register_half_function",
           "register_float_function", "register_promote_function"]
