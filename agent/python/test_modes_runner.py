"""`python -m castscope.modes` in a process of its own."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture
def run(tmp_path):
    def run(*arguments, **files):
        for name, source in files.items():
            (tmp_path / f"{name}.py").write_text(source)
        return subprocess.run([sys.executable, "-m", "castscope.modes", *arguments], cwd=tmp_path, check=False,
                              env={**os.environ, "PYTHONPATH": str(HERE)}, capture_output=True, text=True)
    return run


SAME = """\
import sys, torch, castscope
assert __name__ == "__main__" and sys.argv[1:] == ["--epochs", "1"], sys.argv
assert sys.modules["__main__"].__dict__ is globals()

@castscope.entry(inputs=lambda: (torch.ones(4, 4),), modes=["script", "trace", "export"])
def step(x):
    return x @ x
sys.exit(0)
"""

DIFFERENT = """\
import torch, castscope
from torch.nn import functional as F

@castscope.entry(inputs=lambda: (torch.ones(4, 4),), modes=("export",))
def kept(x):
    return x

def region(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return F.gelu(x @ x)

castscope.entry(inputs=lambda: (torch.ones(4, 4),), name="second")(region)
"""


def test_a_script_whose_entries_agree(run):
    done = run("train.py", "--epochs", "1", train=SAME)
    assert done.returncode == 0, done.stderr
    assert "step: eager, script, trace, export" in done.stdout
    assert "script  same dtypes in 1 of 1 operator\n" in done.stdout
    assert [line for line in done.stderr.splitlines() if "…" in line] == [
        f"castscope: step: {mode} …" for mode in ("eager", "script", "trace", "export")]


def test_where_no_operator_runs_nothing_is_said_to_be_the_same(run):
    source = ("import torch, castscope\n@castscope.entry(inputs=lambda: (torch.ones(2),), modes=['trace', 'export'])\n"
              "def kept(x):\n    return x\n")
    done = run("--html", "modes.html", "--json", "modes.json", "train.py", train=source)
    assert done.returncode == 3 and "trace   not observed: no operator ran\n" in done.stdout
    assert "same dtypes" not in done.stdout


def test_differences_and_json(run, tmp_path):
    done = run("--modes", "script", "--json", "out.json", "--format", "json", "train.py", train=DIFFERENT)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document == json.loads((tmp_path / "out.json").read_text())
    assert (document["document"], document["format"]) == ("compare", 2)
    assert [one["compared_function"] for one in document["comparisons"]] == ["kept", "second"]
    assert document["comparisons"][1]["modes"][1]["differences"]


def test_files_that_exist_are_kept_until_it_is_forced(run, tmp_path):
    given = {"-o": "output", "--json": "modes.json", "--html": "kept.html"}
    for option, file in given.items():
        (tmp_path / file).write_text("mine")
        done = run("--modes", "script", "--format", "html", option, file, "train.py",
                   train="raise SystemExit('it ran')")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"castscope: {file} exists: choose another file, or --force\n"  # the script was not run
        assert (tmp_path / file).read_text() == "mine"
    words = [word for option in given.items() for word in option]
    done = run("--force", "--modes", "script", "--format", "html", *words, "train.py", train=DIFFERENT)
    assert done.returncode == 1, done.stderr
    for file in given.values():
        assert "second" in (tmp_path / file).read_text()


def test_output_goes_into_a_file(run, tmp_path):
    done = run("--modes", "script", "--output", "out.txt", "--json", "out.json", "train.py", train=DIFFERENT)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "gelu at train.py:10" in (tmp_path / "out.txt").read_text()
    assert json.loads((tmp_path / "out.json").read_text())["comparisons"]
    done = run("-o", "same", "--json", "same", "train.py")
    assert done.returncode == 2 and "-o and --json name the same file: same" in done.stderr


def test_a_module_by_its_name_and_what_it_prints_goes_to_standard_error(run):
    source = SAME.replace("    return x @ x", "    print('in step')\n    return x @ x").replace("import sys,", """\
import os
os.write(1, b"from below\\n")
print("from Python")
import sys,""", 1)
    done = run("--format", "json", "-m", "train", "--epochs", "1", train=source)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["comparisons"][0]["compared_function"] == "step"
    assert all(text in done.stderr for text in ("from below", "from Python", "in step"))


def test_color_only_where_it_is_asked_for(run):
    told = run("--modes", "script", "-o", "-", "train.py", train=DIFFERENT).stdout  # - is standard output
    assert "gelu at" in told and "\x1b" not in told
    assert "\x1b[1m" in run("--color", "always", "--modes", "script", "train.py", train=DIFFERENT).stdout


MAKER_FAILS = """\
import torch, castscope

def make():
    raise KeyError("no batch")

@castscope.entry(inputs=make)
def step(x):
    return x @ x
"""


def test_inputs_that_cannot_be_made_name_the_line(run):
    done = run("train.py", train=MAKER_FAILS)
    assert done.returncode == 3
    assert "step cannot be compared: KeyError: 'no batch'" in done.stderr
    assert "train.py:4)" in done.stderr


def test_functions_by_name(run):
    source = "import torch\ndef step(x): return x * 2\ndef make(): return (torch.ones(3),)\n"
    done = run("--modes", "script,export", "--entry", "net:step", "--inputs", "net:make", net=source)
    assert done.returncode == 0, done.stderr
    assert "net:step: eager, script, export" in done.stdout


def test_classes_of_the_script_can_be_scripted(run):
    source = """\
import torch, castscope

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
    def forward(self, x):
        return double(self.linear(x))

def double(x):
    return x * 2

castscope.entry(inputs=lambda: (torch.ones(4, 4),), modes="script")(Net())
"""
    done = run("train.py", train=source)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_entries_says_what_to_write(run):
    done = run("train.py", train="print('hello')\n")
    assert done.returncode == 2
    assert "@castscope.entry(inputs=" in done.stderr


def test_a_script_that_fails_looks_as_with_python(run, tmp_path):
    source = "def f():\n    raise ValueError('broken')\n\nf()\n"
    done = run("train.py", train=source)
    plain = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, plain.stderr)


NOT_COMPARED = "castscope: train.py ended by sys.exit: its entries are not compared\n"


@pytest.mark.parametrize("source, status, said", [("import sys\nsys.exit(4)\n", 3, NOT_COMPARED),
                                                  ("import sys\nsys.exit('no data')\n", 3, f"no data\n{NOT_COMPARED}"),
                                                  ("import nothing_there\n", 3, None),
                                                  ("def f(:\n", 3, None)])
def test_other_ends_of_a_script(run, source, status, said):
    done = run("train.py", train=source)
    assert done.returncode == status
    assert said is None or done.stderr == said


@pytest.mark.parametrize("arguments, said", [
    ([], "nothing to run"),
    (["--modes", "onnx", "train.py"], "'onnx' is not a mode; there are eager, script, trace, compile, export"),
    (["nowhere.py"], "cannot run nowhere.py"),
    (["-m", "nowhere"], "cannot run nowhere"),
    (["--entry", "net:f"], "1 --entry but 0 --inputs"),
    (["--entry", "net", "--inputs", "net"], "package.module:function"),
    (["--entry", "nowhere:f", "--inputs", "nowhere:g"], "nowhere:f: No module named 'nowhere'"),
    (["--wrong"], "unrecognized arguments"),
])
def test_wrong_usage(run, arguments, said):
    done = run(*arguments)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert done.stdout == ""


def test_help_has_examples(run):
    done = run("--help")
    assert done.returncode == 0 and "python -m castscope.modes train.py" in done.stdout


def python(code):
    return subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, check=False)


def test_import_of_castscope_brings_in_none_of_it():
    done = python("import sys, castscope\nprint([name for name in sys.modules if 'castscope.modes' in name])")
    assert done.stdout == "[]\n"


def test_an_entry_is_inert_and_needs_no_pytorch():
    done = python("import sys, castscope\n"
                  "@castscope.entry(inputs=lambda: 1 / 0)\ndef f(x): return x\n"
                  "print(f(3), f.__name__, 'torch' in sys.modules)")
    assert (done.stdout, done.stderr) == ("3 f False\n", "")


def test_an_entry_of_something_else_is_refused():
    done = python("import castscope\ncastscope.entry(inputs=())(3)")
    assert "TypeError: castscope.entry is for functions and modules, not int" in done.stderr
