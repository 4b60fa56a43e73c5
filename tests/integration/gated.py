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


MOST_TRIES = 5


def record(castscope, python, text=TRAIN, name="run", *options):
    """Runs the text as train.py. An earlier run of that name is deleted. A step that waited long for its core took so
    much longer than its casts that they seem hardly worth a change: then the text is run again."""
    (castscope.folder / "train.py").write_text(text)
    for _ in range(MOST_TRIES):
        done = castscope("run", "--force", "-o", name, *options, "--", python, "train.py")
        assert done.returncode == 0, done.stderr
        if not any(finding["rule"] == RULE and finding["severity"] == "info"
                   for finding in castscope.report(name)["findings"]):
            break
    return done


@functools.cache
def folder_of(python, text, options):
    """A folder in which the text was run with these options. It stays, for the run names the source in it."""
    folder = tempfile.TemporaryDirectory()
    record(Castscope(pathlib.Path(folder.name)), python, text, "run", *options)
    return folder


def have(castscope, python, text=TRAIN, name="run", *options):
    """As record(), for what only reads the run: the text is run once for all who ask for it with these options."""
    (castscope.folder / "train.py").write_text(text)
    for file in pathlib.Path(folder_of(python, text, options).name).glob("run.*"):
        (castscope.folder / file.name.replace("run.", f"{name}.")).write_bytes(file.read_bytes())


def line_of(text, part=FINDS):
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)
