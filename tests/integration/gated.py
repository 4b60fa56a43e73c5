"""Jobs for the tests of check, diff and the settings: frozen weights that are cast again and again."""

import functools
import pathlib
import tempfile
import textwrap

from program import Castscope

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


@functools.cache
def outputs_of(python, text):
    """What a run of the text writes."""
    with tempfile.TemporaryDirectory() as folder:
        record(Castscope(pathlib.Path(folder)), python, text)
        return {path.name: path.read_bytes() for path in pathlib.Path(folder).glob("run.*")}


def have(castscope, python, text=TRAIN, name="run"):
    """As record() with no options, for what reads the run: the text is run once for all who ask for it."""
    (castscope.folder / "train.py").write_text(text)
    for file, content in outputs_of(python, text).items():
        (castscope.folder / file.replace("run.", f"{name}.")).write_bytes(content)


def line_of(text, part=FINDS):
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)
