"""castscope compare: the command, on scripts as users have them."""

import json
import pathlib
import sys

import pytest
from program import Castscope, clean_environment

ENTRY = """
import sys
import torch, castscope

@castscope.entry(inputs=lambda: (torch.randn(4, 8), torch.randn(8, 8)))
def step(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        c = a @ b
        return torch.nn.functional.layer_norm(c, (8,))

print("the script's own", sys.argv[1:])
"""


@pytest.fixture(scope="module")
def same(tmp_path_factory):
    """A comparison by a Python of the PATH, into a file that exists: what came of it without --force, and with it."""
    castscope = Castscope(tmp_path_factory.mktemp("same"))
    (castscope.folder / "entry.py").write_text(ENTRY)
    written = castscope.folder / "modes.json"
    written.write_text("mine")
    python = pathlib.Path(sys.executable)
    command = ("--modes", "trace", "-f", "json", "-o", written.name, "--", python.name, "-W", "ignore", "entry.py")
    path = {"env": clean_environment() | {"PATH": f"{python.parent}:/usr/bin:/bin"}, "text": True}
    refused = castscope("compare", *command, **path)
    kept = written.read_text()
    forced = castscope("compare", "--force", *command, **path)
    return refused, kept, forced, json.loads(written.read_text())


@pytest.fixture
def compare(castscope, tmp_path):
    (tmp_path / "entry.py").write_text(ENTRY)

    def run(*arguments):
        return castscope("compare", *arguments, text=True)
    return run


def test_a_script_says_what_is_compared(compare, tmp_path):
    done = compare("--modes", "script,trace", "--json", "modes.json", "--", sys.executable, "entry.py", "--lr", "1")
    assert done.returncode == 1, done.stderr
    assert "layer_norm at entry.py:9: eager bf16, script f32" in done.stdout
    assert "the script's own ['--lr', '1']" in done.stderr and "the script's own" not in done.stdout
    (comparison,) = json.loads((tmp_path / "modes.json").read_text())["comparisons"]
    told = {mode["mode"]: [comparison["operators"][difference["row"]]["location"]["line"]
                           for difference in mode.get("differences", [])] for mode in comparison["modes"]}
    assert told == {"eager": [], "script": [9], "trace": []}


def test_the_same_precision_is_success(same):
    _, _, done, told = same
    assert done.returncode == 0, done.stderr
    assert told["comparisons"][0]["same_precision"] is True


def test_python_is_found_in_the_path(same, compare):
    _, _, done, _ = same
    assert done.returncode == 0, done.stderr
    done = compare("--", "python9", "entry.py")
    assert done.returncode == 2 and "python9: there is no such program" in done.stderr, done.stderr


def test_a_file_that_exists_is_overwritten_only_by_force(same):
    refused, kept, forced, told = same
    assert refused.returncode == 2 and "modes.json exists: choose another file, or --force" in refused.stderr
    assert kept == "mine" and "the script's own" not in refused.stderr
    assert (forced.returncode, forced.stdout) == (0, ""), forced.stderr
    assert told["comparisons"]


def test_a_function_by_its_name(compare, tmp_path):
    (tmp_path / "functions.py").write_text("import torch\ndef twice(x): return x * 2\n"
                                           "def inputs(): return (torch.ones(3),)\n")
    done = compare("--modes", "script", "--python", sys.executable, "--entry", "functions:twice", "--inputs",
                   "functions:inputs")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("arguments", "sentence"), [
    ((), "nothing to compare"),
    (("a.castscope", "b.json"), "`castscope diff a.castscope b.json` compares runs; this command compares modes"),
    (("train.py",), "these words stand for nothing: train.py; castscope compare -- python SCRIPT"),
    (("--", "bash", "x"), "must begin with Python itself"),
    (("--", sys.executable), "a script, or -m and a module, must follow"),
    (("--", sys.executable, "-c", "pass"), "-c has no file to look into"),
    (("--entry", "a:b", "--", sys.executable, "x.py"), "after -- stands a script that marks its own"),
    (("--modes", "jit", "--", sys.executable, "entry.py"), "'jit' is not a mode"),
    (("--", sys.executable, "empty.py"), "has nothing to compare"),
])
def test_wrong_usage_says_what_is_meant(compare, tmp_path, arguments, sentence):
    (tmp_path / "empty.py").write_text("print()")
    done = compare(*arguments)
    assert done.returncode == 2 and sentence in done.stderr, done.stderr


def test_a_script_that_fails_has_its_traceback(compare, tmp_path):
    (tmp_path / "broken.py").write_text("import torch\nraise ValueError('mine')\n")
    done = compare("--", sys.executable, "broken.py")
    assert done.returncode == 3 and "ValueError: mine" in done.stderr and "castscope/modes" not in done.stderr


def test_an_entry_that_cannot_be_compared_does_not_keep_the_others_from_it(compare, tmp_path):
    (tmp_path / "three.py").write_text(ENTRY + """
@castscope.entry(inputs=lambda: 1 / 0)
def unmade(x):
    return x

@castscope.entry(inputs=lambda: (torch.ones(2),))
def ends(x):
    sys.exit(5)
""")
    done = compare("--modes", "trace", "--format", "json", "--", sys.executable, "three.py")
    assert done.returncode == 3 and "unmade cannot be compared: ZeroDivisionError" in done.stderr, done.stderr
    assert [one["compared_function"] for one in json.loads(done.stdout)["comparisons"]] == ["step", "ends"]
