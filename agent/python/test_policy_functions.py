"""A policy's rules for functions: applied to modules that are imported already, later, or anew."""

import functools
import importlib
import importlib.machinery
import importlib.resources
import inspect
import os
import pathlib
import re
import subprocess
import sys
import threading
import zipfile

import pytest
import torch
from castscope import policy_functions

HERE = pathlib.Path(__file__).resolve().parent
LOW, FLOAT = torch.bfloat16, torch.float32

SOURCE = """
def attend(x):
    return x.dtype

class Cell:
    def forward(self, x):
        return x.dtype
    def mix(self, x):
        return x.dtype
    @staticmethod
    def static(x):
        return x.dtype
"""


@pytest.fixture
def policy(monkeypatch, tmp_path):
    """install(), whose rules end with the test; modules are written into a folder that is on the path."""
    finder = policy_functions._Finder()
    monkeypatch.setattr(policy_functions, "_finder", finder)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield policy_functions.install
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in sys.modules[name].__file__:
            del sys.modules[name]


def write(folder, name, source=SOURCE):
    path = folder / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    importlib.invalidate_caches()


def cast(function):
    with torch.autocast("cpu", dtype=LOW):
        return function(torch.ones(2))


def test_a_module_that_is_imported_later(policy, tmp_path):
    write(tmp_path, "late_attention")
    policy([("late_attention:attend", "half"), ("late_attention:Cell.mix", "half"),
            ("late_attention:Cell.static", "half"), ("late_attention:Cell", "half")])
    module = importlib.import_module("late_attention")
    cell = module.Cell()
    assert [cast(f) for f in (module.attend, cell.mix, module.Cell.static, cell.forward)] == [LOW] * 4


def test_a_module_that_is_imported_already(policy, tmp_path):
    write(tmp_path, "early_attention")
    module = importlib.import_module("early_attention")
    policy([("early_attention:attend", "half")])
    assert cast(module.attend) is LOW


def test_a_module_in_a_package_and_who_imports_its_names(policy, tmp_path):
    write(tmp_path, "late_models/__init__", "from late_models.attention import attend\n")
    write(tmp_path, "late_models/attention")
    policy([("late_models.attention:attend", "half")])
    assert cast(importlib.import_module("late_models").attend) is LOW


@pytest.mark.parametrize("kind, got", [("half", [LOW, LOW]), ("float", [FLOAT, FLOAT]), ("promote", [FLOAT, FLOAT])])
def test_half_float_and_promote(policy, tmp_path, kind, got):
    write(tmp_path, f"late_{kind}", "def mix(x, y): return [x.dtype, y.dtype]")
    policy([(f"late_{kind}:mix", kind)])
    mix = importlib.import_module(f"late_{kind}").mix
    assert cast(lambda x: mix(x, x.to(LOW))) == got
    assert mix(torch.ones(2), torch.ones(2, dtype=LOW)) == [FLOAT, LOW], "outside autocast"


def test_the_import_is_as_without(policy, tmp_path):
    write(tmp_path, "late_plain/__init__")
    (tmp_path / "late_plain" / "data.txt").write_text("data")
    policy([("late_plain:attend", "half")])
    module = importlib.import_module("late_plain")
    spec = module.__spec__
    assert type(spec.loader) is importlib.machinery.SourceFileLoader and spec.loader is module.__loader__
    assert "exec_module" not in vars(spec.loader) and spec.origin == module.__file__
    assert spec.cached == module.__cached__ and os.path.exists(spec.cached) == (not sys.dont_write_bytecode)
    assert importlib.resources.files("late_plain").joinpath("data.txt").read_text() == "data"
    assert inspect.getsource(module.Cell) in SOURCE


def test_reload(policy, tmp_path):
    write(tmp_path, "late_again")
    policy([("late_again:attend", "half")])
    module = importlib.import_module("late_again")
    write(tmp_path, "late_again", SOURCE + "# changed\n")
    assert importlib.reload(module) is module and cast(module.attend) is LOW


def test_from_a_zip(policy, tmp_path, monkeypatch, capsys):
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped_one.py", "import zipped_two\n" + SOURCE)
        file.writestr("zipped_two.py", SOURCE)
    monkeypatch.syspath_prepend(str(archive))
    policy([("zipped_one:attend", "half"), ("zipped_two:attend", "half")])
    module = importlib.import_module("zipped_one")
    assert cast(module.attend) is LOW and cast(module.zipped_two.attend) is LOW
    assert "exec_module" not in vars(module.__loader__) and capsys.readouterr().err == ""


def test_a_module_that_raises_raises_as_without(policy, tmp_path):
    write(tmp_path, "late_broken", "raise KeyError('mine')")
    policy([("late_broken:attend", "half")])
    with pytest.raises(KeyError, match="mine"):
        importlib.import_module("late_broken")
    with pytest.raises(ModuleNotFoundError, match="late_absent"):
        policy([("late_absent:attend", "half")])
        importlib.import_module("late_absent")


def test_looking_for_a_module_does_not_import_it(policy, tmp_path):
    write(tmp_path, "late_looked")
    policy([("late_looked:attend", "half")])
    assert importlib.util.find_spec("late_looked").origin.endswith("late_looked.py")
    assert "late_looked" not in sys.modules
    assert cast(importlib.import_module("late_looked").attend) is LOW


def test_modules_imported_at_once_in_threads(policy, tmp_path):
    names = [f"late_thread{i}" for i in range(4)]
    for name in names:
        write(tmp_path, name)
    policy([(f"{name}:attend", "half") for name in names])
    threads = [threading.Thread(target=importlib.import_module, args=[name]) for name in names * 2]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert [cast(sys.modules[name].attend) for name in names] == [LOW] * 4


def test_a_rule_stands_above_an_annotation_but_for_what_is_never_cast(policy, tmp_path):
    source = ("import castscope\n@castscope.never_cast('y')\n@castscope.float_function\n"
              "def mix(x, y): return [x.dtype, y.dtype]")
    write(tmp_path, "late_annotated", source)
    policy([("late_annotated:mix", "half")])
    mix = importlib.import_module("late_annotated").mix
    assert cast(lambda x: mix(x, x)) == [LOW, FLOAT]


def test_a_name_that_is_not_there_is_told_once_and_the_rest_applied(policy, tmp_path, capsys):
    write(tmp_path, "late_misspelt")
    policy([("late_misspelt:atend", "half"), ("late_misspelt:Sell.mix", "half"), ("late_misspelt:Cell.mix", "half")])
    module = importlib.import_module("late_misspelt")
    importlib.reload(module)
    assert capsys.readouterr().err.splitlines() == [
        "castscope: policy: 'late_misspelt:atend' is not cast: late_misspelt has no 'atend'; did you mean 'attend'?",
        "castscope: policy: 'late_misspelt:Sell.mix' is not cast: late_misspelt has no 'Sell'; did you mean 'Cell'?"]
    assert cast(module.Cell().mix) is LOW


def test_the_script_itself_cannot_be_named(policy, capsys):
    policy([("__main__:attend", "half")])
    assert capsys.readouterr().err == ("castscope: policy: '__main__:attend' is not applied: the script itself is not "
                                       "imported; annotate it with castscope.half_function\n")


# ---- the lines, and the environment variable

def test_lines_of_a_compiled_policy():
    text = ("castscope-policy 1\nhash 0123456789abcdef\ndevice\tany\nfunction\ta.b:C.d\thalf\n"
            "function\todd\\\\name\\t\\n:f\tpromote\nfunction\ta:b\tdouble\ntable 0\nop\tfp32\taten::mm\t\n")
    assert policy_functions.rules_in(text) == [("a.b:C.d", "half"), ("odd\\name\t\n:f", "promote")]
    assert policy_functions.rules_in(text.replace("policy 1", "policy 2")) == policy_functions.rules_in(text)
    for other in (text.replace("policy 1", "policy 0"), ""):
        with pytest.raises(ValueError, match="they are in the format"):
            policy_functions.rules_in(other)


def test_the_formats_are_those_of_the_agent():
    header = (HERE.parent / "enforce" / "decided" / "policy_table.h").read_text()
    assert set(policy_functions._FORMATS) == set(re.findall(r'Format = "(castscope-policy \d+)"', header))


def in_job(tmp_path, code, compiled):
    """Runs code in a Python that gets the package in the way that `castscope run` lends it."""
    if compiled is not None:
        (tmp_path / "policy").write_text(compiled)
    (tmp_path / "job.py").write_text(code)
    write(tmp_path, "models")
    own = {name: value for name, value in os.environ.items() if not name.startswith(("CASTSCOPE_", "LD_PRELOAD"))}
    variables = {**own, "PYTHONPATH": str(HERE / "lending"), "CASTSCOPE_ENFORCE": str(tmp_path / "policy")}
    return subprocess.run([sys.executable, "job.py"], cwd=tmp_path, env=variables, capture_output=True, text=True,
                          check=False)


def test_a_job_with_rules(tmp_path):
    code = ("import torch, models\nwith torch.autocast('cpu', dtype=torch.bfloat16):\n"
            "    print(models.attend(torch.ones(2)))")
    done = in_job(tmp_path, code, "castscope-policy 3\nfunction\tmodels:attend\thalf\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "torch.bfloat16\n", "")


@pytest.mark.parametrize("compiled", ["castscope-policy 1\ndevice\tcpu\n", "castscope-policy 2\n"])
def test_a_job_without_rules_imports_nothing(tmp_path, compiled):
    code = "import sys\nprint([name for name in sys.modules if name.startswith(('castscope', 'torch'))])"
    done = in_job(tmp_path, code, compiled)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_rules_bring_in_no_torch(tmp_path):
    code = "import sys, models\nprint('torch' in sys.modules, models.attend.__wrapped__.__name__)"
    done = in_job(tmp_path, code, "castscope-policy 1\nfunction\tmodels:attend\thalf\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "False attend\n", "")


def test_rules_for_a_module_of_torch(tmp_path):
    code = ("import torch\nwith torch.autocast('cpu', dtype=torch.bfloat16):\n"
            "    print(torch.nn.functional.normalize(torch.ones(2, 2, dtype=torch.bfloat16)).dtype)")
    done = in_job(tmp_path, code, "castscope-policy 1\nfunction\ttorch.nn.functional:normalize\tfloat\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "torch.float32\n", "")


# On the CPU autocast casts what mse_loss and cumprod are given to float32, and what mm is given to bfloat16.
RULES = [
    ("torch.nn.functional:mse_loss", "half", "torch.nn.functional.mse_loss(x, x)", "bfloat16"),
    ("torch:cumprod", "half", "torch.cumprod(x, 0)", "bfloat16"),
    ("torch:mm", "promote", "torch.mm(x, low)", "float32"),
    ("torch:mm", "float", "torch.mm(low, low)", "float32"),
    ("torch:Tensor.mm", "promote", "x.mm(low)", "float32"),
    ("torch:Tensor.cumprod", "half", "x.cumprod(0)", "bfloat16")]


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Makes all those calls in one job under the rules of these kinds; returns {call: what it printed}."""
    @functools.cache
    def by(*kinds):
        code = ("import torch\nx, low = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.bfloat16)\n"
                "with torch.autocast('cpu', dtype=torch.bfloat16):\n")
        code += "".join(f"    print({call}.dtype, torch.is_autocast_enabled('cpu'))\n" for _, _, call, _ in RULES)
        rules = "".join(f"function\t{function}\t{kind}\n" for function, kind, _, _ in RULES if kind in kinds)
        done = in_job(tmp_path_factory.mktemp("calls"), code, f"castscope-policy 3\n{rules}table\t0\ndtype\tambient\n")
        assert (done.returncode, done.stderr) == (0, "")
        return dict(zip([call for _, _, call, _ in RULES], done.stdout.splitlines(), strict=True))
    return by


@pytest.mark.parametrize(("function", "kind", "call", "dtype"), RULES)
def test_a_rule_for_a_function_of_pytorch_stands_above_the_lists(printed, function, kind, call, dtype):
    ruled = printed("float") if kind == "float" else printed("half", "promote")
    assert ruled[call] == f"torch.{dtype} True"
    assert printed()[call] != ruled[call], "the lists say something else"


def test_what_a_function_of_pytorch_writes_into_is_not_cast(tmp_path):
    code = ("import torch\nlow, out = torch.ones(2, dtype=torch.bfloat16), torch.zeros(2, dtype=torch.bfloat16)\n"
            "with torch.autocast('cpu', dtype=torch.bfloat16):\n    torch.exp(low, out=out)\nprint(out[0].item() > 2)")
    done = in_job(tmp_path, code, "castscope-policy 3\nfunction\ttorch:exp\tfloat\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_a_class_of_pytorch_has_its_weights_cast(tmp_path):
    code = ("import torch\nwith torch.autocast('cpu', dtype=torch.bfloat16):\n"
            "    print(torch.nn.Linear(2, 2)(torch.ones(2, 2)).dtype)")
    done = in_job(tmp_path, code, "castscope-policy 3\nfunction\ttorch.nn:Linear\thalf\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "torch.bfloat16\n", "")


def test_a_file_that_is_not_there_does_not_break_the_job(tmp_path):
    done = in_job(tmp_path, "print('ran')", None)
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("castscope: ")


def test_another_format_does_not_break_the_job(tmp_path):
    done = in_job(tmp_path, "print('ran')", "castscope-policy 0\nfunction\tmodels:attend\thalf\n")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert done.stderr == ("castscope: policy: its functions are not cast: they are in the format 'castscope-policy 0'"
                           ", and this package knows castscope-policy 1 and castscope-policy 2 "
                           "and castscope-policy 3\n")


def test_a_file_that_is_no_text_does_not_break_the_job(tmp_path):
    (tmp_path / "policy").write_bytes(b"castscope-policy 1\nfunction\t\xff:f\thalf\n")
    done = in_job(tmp_path, "print('ran')", None)
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("castscope: ")


def test_the_lent_file_is_parsed_by_python_2():
    """No Python 2 is at hand: the file must hold nothing that Python 2 cannot parse."""
    import ast

    source = (HERE / "lending" / "sitecustomize.py").read_text()
    banned = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.AsyncFunctionDef, ast.Nonlocal, ast.YieldFrom)
    for node in ast.walk(ast.parse(source)):
        assert not isinstance(node, banned)
        if isinstance(node, ast.FunctionDef):
            assert not node.args.kwonlyargs and node.returns is None and not any(a.annotation for a in node.args.args)
        if isinstance(node, ast.Raise):
            assert node.cause is None
    source.encode("ascii")


@pytest.mark.parametrize("dtype, lowered", [("float16", {"cuda": "float16"}), ("ambient", {})])
def test_the_lower_precision_of_a_policy_is_that_of_its_own_table(dtype, lowered):
    text = f"castscope-policy 2\nhash\t0\nname\tp\ndevice\tcuda\ntable\t0\ndtype\t{dtype}\ntable\t1\ndtype\tbfloat16\n"
    assert policy_functions.lower_precision_in(text) == lowered
