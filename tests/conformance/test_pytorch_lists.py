"""PyTorch's own tests of autocast on the CPU, of its own lists of operators, in bfloat16 and float16.

The lists and the checker are shipped with PyTorch (torch.testing._internal.autocast_test_lists); the loops over them
are in its tests (test/test_autocast.py), which are not, and stand here. test_every_operator.py runs this file, as a
program, under castscope.
"""

import itertools
import unittest

import torch
from torch.testing._internal.autocast_test_lists import AutocastCPUTestLists, TestAutocast

LOWS = (torch.bfloat16, torch.float16)
# A list's entries are (operator, arguments[, options]); or where the dtypes of arguments matter (operator, those for
# bfloat16, those for float16[, result's dtype]).
CAST = {"torch_16": (torch, None), "nn_16": (torch._C._nn, None), "torch_fp32": (torch, torch.float32),
        "nn_fp32": (torch._C._nn, torch.float32)}
PROMOTED = {"torch_need_autocast_promote": torch, "torch_expect_builtin_promote": torch,
            "methods_expect_builtin_promote": None}


class Lists(TestAutocast):
    def setUp(self):
        super().setUp()
        torch.manual_seed(0)
        self.lists = AutocastCPUTestLists(torch.device("cpu"))

    def test_no_list_is_forgotten(self):
        self.assertEqual(set(vars(self.lists)), {*CAST, *PROMOTED})

    def test_cast(self):
        for name, low in itertools.product(CAST, LOWS):
            module, dtype = CAST[name]
            for entry in getattr(self.lists, name):
                operator, arguments, options = self.args_maybe_kwargs(entry)
                with self.subTest(f"{name} {operator} {low}"):
                    self._run_autocast_outofplace(operator, arguments, dtype or low, "cpu", module=module,
                                                  add_kwargs=options, amp_dtype=low)

    def test_promoted(self):
        for name, module in PROMOTED.items():
            for operator, *arguments in getattr(self.lists, name):
                result = arguments[2] if len(arguments) > 2 else None
                for low, given in zip(LOWS, arguments, strict=False):
                    with self.subTest(f"{name} {operator} {low}"):
                        self._run_autocast_outofplace(operator, given, torch.float32, "cpu", module=module,
                                                      out_type=result, amp_dtype=low)

    def test_rnn(self):
        """An LSTM in bfloat16 takes float32 arguments under autocast only."""
        layer = torch.nn.LSTM(1, 1, 2).to(torch.bfloat16)
        inputs, state = torch.randn(1, 2, 1), (torch.randn(2, 2, 1), torch.randn(2, 2, 1))
        with self.assertRaisesRegex(ValueError, "dtype"):
            layer(inputs, state)
        if torch.ops.mkldnn._is_mkldnn_bf16_supported():
            with torch.autocast("cpu"):
                layer(inputs, state)

    def test_a_disabled_region_in_float32(self):
        with torch.autocast("cpu", dtype=torch.float32, enabled=False):
            self.assertEqual(torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype, torch.float32)


if __name__ == "__main__":
    unittest.main(verbosity=2)
