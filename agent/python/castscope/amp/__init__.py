"""For code written against the handle of the old apex.amp: the same names, on PyTorch's autocast and GradScaler.

    from castscope import amp                              # was: from apex import amp

    handle = amp.init()
    for input, target in data:
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        with handle.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()

Which operator works in which precision is as autocast on the device has it, RNN cells and layers included. Unlike
apex, it patches nothing and is of the thread that called init(); the lower precision on the CPU is bfloat16. Losses are
scaled for bfloat16, too, which does not need it: a step with infinite gradients is left out there as well.
"""

from castscope.amp.handle import AmpHandle, NoOpHandle, init
from castscope.amp.optimizer import OptimWrapper
from castscope.annotations import (float_function, half_function, promote_function, register_float_function,
                                   register_half_function, register_promote_function)

__all__ = ["init", "AmpHandle", "NoOpHandle", "OptimWrapper", "half_function", "float_function", "promote_function",
           "register_half_function", "register_float_function", "register_promote_function"]
