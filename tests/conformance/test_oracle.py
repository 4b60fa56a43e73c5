"""The oracle itself, against sums done by hand."""

import sys
import textwrap

import runs

F32, BF16 = 6, 15


def count(tmp_path, text):
    program = "import torch, torch.nn.functional as F\n" + textwrap.dedent(text)
    outcome = runs.under_oracle([sys.executable, "-c", program], tmp_path / "oracle")
    assert outcome.status == 0, outcome.stderr.decode()
    return outcome.counts


def totals(counts):
    return counts.casts, counts.cache_hits, counts.pass_throughs


def test_linear_twice_hits_weight_and_bias(tmp_path):
    counts = count(tmp_path, """
        layer, x = torch.nn.Linear(4, 3), torch.ones(2, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            layer(x)
            layer(x)
    """)
    assert totals(counts) == (4, 2, 0)
    assert counts.bytes == 2 * (2 * 2 * 4 + 3 * 4 + 3)
    assert counts.pairs == {(F32, BF16): [4, 2, counts.bytes]}
    assert counts.clears == 1
    assert counts.outcomes == "ccchhc"  # bias, weight, input: the compiler's order


def test_low_precision_operands_pass_through(tmp_path):
    counts = count(tmp_path, """
        a = torch.ones(2, 2, dtype=torch.bfloat16)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            a @ a
    """)
    assert totals(counts) == (0, 0, 2)


def test_what_is_not_cached_is_cast_each_time(tmp_path):
    counts = count(tmp_path, """
        w, x = torch.ones(3, 4), torch.ones(2, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for _ in range(5):
                F.linear(x, w)
    """)
    assert totals(counts) == (10, 0, 0)


def test_a_cleared_cache_gives_casts_again(tmp_path):
    counts = count(tmp_path, """
        layer, x = torch.nn.Linear(4, 3, bias=False), torch.ones(2, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            kept = layer(x)
            layer(x)
            torch.clear_autocast_cache()
            layer(x)
    """)
    assert totals(counts) == (5, 1, 0)
    assert counts.clears == 2


def test_a_copy_that_the_graph_keeps_is_no_hit(tmp_path):
    counts = count(tmp_path, """
        layer, x = torch.nn.Linear(4, 3, bias=False), torch.ones(2, 4)
        outputs = []
        for _ in range(3):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                outputs.append(layer(x))
        sum(y.float().sum() for y in outputs).backward()
    """)
    assert totals(counts) == (6, 0, 0)


def test_fake_tensors_stand_apart(tmp_path):
    counts = count(tmp_path, """
        from torch._subclasses import FakeTensorMode
        with FakeTensorMode(), torch.autocast("cpu", dtype=torch.bfloat16):
            torch.ones(2, 4) @ torch.ones(4, 2)
    """)
    assert totals(counts) == (0, 0, 0)
    assert counts.traced == 2


def test_every_process_has_its_own_file(tmp_path):
    counts = count(tmp_path, """
        import os
        x = torch.ones(2, 2)
        def cast():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                x @ x
        cast()
        if os.fork() == 0:
            cast()
            os._exit(0)
        os.wait()
        cast()
    """)
    assert counts.processes == 2
    assert totals(counts) == (6, 0, 0)


def test_many_short_lived_copies_are_forgotten(tmp_path):
    counts = count(tmp_path, """
        x = torch.ones(2, 2)
        for _ in range(300):
            weights = [torch.ones(2, 2, requires_grad=True) for _ in range(10)]
            with torch.autocast("cpu", dtype=torch.bfloat16):
                for w in weights + weights:
                    x @ w
    """)
    assert totals(counts) == (3000 + 6000, 3000, 0)
