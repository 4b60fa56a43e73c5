"""Jobs for the tests of check, diff and the settings: frozen weights that are cast again and again."""

import textwrap

TRAIN = textwrap.dedent("""\
    import torch

    torch.set_num_threads(1)


    def train(steps=3):
        model = torch.nn.Linear(32, 32).requires_grad_(False)
        for _ in range(steps):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                for _ in range(4):
                    model(torch.randn(2, 32))


    train()
    """)
FINDS = "model(torch.randn(2, 32))"
RULE = "weight-cast-repeatedly"


def record(castscope, python, text=TRAIN, name="run", *options):
    """Runs the text as train.py. An earlier run of that name is deleted."""
    (castscope.folder / "train.py").write_text(text)
    done = castscope("run", "--force", "-o", name, *options, "--", python, "train.py")
    assert done.returncode == 0, done.stderr
    return done


def line_of(text, part=FINDS):
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)
