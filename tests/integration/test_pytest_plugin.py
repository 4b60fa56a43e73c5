"""pytest --castscope: tests with the mark run under castscope, one process each."""

import json
import re
import xml.etree.ElementTree as tree

import pytest
from program import BUILD, ROOT, clean_environment

pytest_plugins = ["pytester"]

# A body that casts four times in the region it opens, and a fixture that casts too.
MODEL = """\
import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture
def model():
    model = torch.nn.Linear(8, 8).requires_grad_(False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(torch.randn(2, 8))
    return model


def use(model):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(torch.randn(2, 8))
        model(torch.randn(2, 8))
"""

# The same, with PyTorch imported in each function: the process that collects the tests does not import it.
LATE = MODEL.replace("import torch\n\ntorch.set_num_threads(1)\n", "").replace(
    "    model = ", "    import torch\n    torch.set_num_threads(1)\n    model = ").replace(
    "def use(model):\n", "def use(model):\n    import torch\n")


@pytest.fixture
def plugin(pytester, monkeypatch):
    """Runs the text as test_it.py with the plugin."""
    for name in set(__import__("os").environ) - set(clean_environment()):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CASTSCOPE_BIN", str(BUILD / "castscope"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # of an installed castscope
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "agent" / "python"))

    def run(text, *options):
        pytester.makepyfile(test_it=text)
        return pytester.runpytest_subprocess("-p", "castscope.pytest_plugin", "-p", "no:cacheprovider", *options)
    return run


def test_the_casts_of_the_body_are_counted_exactly_and_are_in_junit_xml(plugin, pytester, monkeypatch):
    # Bias and weight of a frozen layer are not kept: three casts a call, of them none of the fixture's.
    for most, outcome in ((6, {"passed": 1}), (5, {"failed": 1})):
        done = plugin(MODEL + f"""
@pytest.mark.castscope(max_casts={most})
def test_body(model):
    use(model)
""", "--castscope", "--junitxml=junit.xml")
        done.assert_outcomes(**outcome)
        cases = list(tree.parse(pytester.path / "junit.xml").getroot().iter("testcase"))
        assert [case.get("name") for case in cases] == ["test_body"]
        assert [(p.get("name"), p.get("value")) for p in cases[0].iter("property")] == [("castscope_casts", "6")]
        done.stdout.fnmatch_lines(["castscope: 1 test observed, 6 casts in their bodies"])
        for name, value in (("RANK", "0"), ("WORLD_SIZE", "2")):  # the second time it is a rank of a launcher
            monkeypatch.setenv(name, value)
    done.stdout.fnmatch_lines(["castscope: the body made 6 casts, max_casts is 5", "*test_it.py:1[78]*linear*bfloat16"])


def test_where_the_body_cast_adds_up_to_what_it_cast(plugin):
    """Neither conversions that the code asks for nor casts of fixtures are among them, however many they are."""
    done = plugin(LATE + """
@pytest.fixture
def busy(model):
    for _ in range(10):
        use(model)

def convert(tensor):
    import torch
    for _ in range(70):
        tensor.to(torch.bfloat16)

@pytest.mark.castscope(max_casts=5)
def test_body(model, busy):
    import torch
    convert(torch.ones(3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(torch.randn(2, 8))
        model(torch.randn(2, 8))
        model(torch.randn(2, 8)); model(torch.randn(2, 8))

@pytest.mark.castscope(max_casts=5)
def test_in_a_thread(model):
    import threading
    use(model)
    thread = threading.Thread(target=use, args=(model,))
    thread.start()
    thread.join()
""", "--castscope")
    done.assert_outcomes(failed=2)
    # Where the variable CI is set, pytest prints each message once more, in its summary.
    text = "\n".join(done.outlines).partition("short test summary info")[0]
    for told, total in text_of_counts(text):
        assert sum(told) == total, text
    assert [total for _, total in text_of_counts(text)] == [12, 12]
    done.stdout.fnmatch_lines(["         6  not called by the test's function: in another thread, or around *"])


def text_of_counts(text):
    """For each failed test the numbers that are listed, and the one that they are of."""
    listing = r"the body made (\d+) casts.*\n  where the body cast:\n((?: {4,}\d+ .*\n?)+)"
    for total, listed in re.findall(listing, text):
        yield [int(line.split()[0]) for line in listed.splitlines()], int(total)


def test_forbidden_findings_fail_a_test_that_passes_otherwise(plugin):
    done = plugin(LATE + """
@pytest.mark.castscope(forbid=["weight-cast-*"])
def test_frozen(model):
    use(model)

@pytest.mark.castscope(forbid=["cache-grows"])
def test_other_rule(model):
    use(model)

@pytest.mark.castscope(forbid=["weight-cast-*"])
class TestTrained:
    def test_kept(self):
        import torch
        use(torch.nn.Linear(8, 8))
""", "--castscope")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["castscope: forbidden: performance weight-cast-repeatedly at test_it.py:*",
                               "    fix: *"])


def test_without_the_option_marked_tests_run_unobserved_and_that_is_said(plugin):
    done = plugin(MODEL + """
@pytest.mark.castscope(max_casts=0)
def test_body(model):
    use(model)
""")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["castscope: 1 marked test ran unobserved; --castscope checks what their marks ask for"])


def test_outcomes_are_those_of_the_test(plugin):
    done = plugin("""
import pytest, warnings

@pytest.fixture
def broken():
    raise ValueError("fixture")

@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("shared")

@pytest.mark.castscope
@pytest.mark.parametrize("n", [1, 2])
def test_parameters(n, tmp_path, shared, capsys):
    assert tmp_path.exists() and shared.exists() and n < 2, "n is two"

@pytest.mark.castscope
def test_error(broken): pass

@pytest.mark.castscope
@pytest.mark.skip(reason="not now")
def test_skipped(): pass

@pytest.mark.castscope
@pytest.mark.xfail(strict=True)
def test_expected(): assert 0

def test_unmarked_keeps_its_fixture(shared): assert shared.exists()
""", "--castscope", "--junitxml=junit.xml", "-ra")
    done.assert_outcomes(passed=2, failed=1, errors=1, skipped=1, xfailed=1)
    done.stdout.fnmatch_lines(["*AssertionError: n is two", "*ValueError: fixture"])


def test_a_violated_mark_is_what_xfail_expects(plugin):
    done = plugin(LATE + """
@pytest.mark.castscope(max_casts=0)
@pytest.mark.xfail
def test_violated(model): use(model)

@pytest.mark.castscope(max_casts=0)
@pytest.mark.xfail(strict=True, reason="too many")
def test_violated_strict(model): use(model)

@pytest.mark.castscope(max_casts=100)
@pytest.mark.xfail
def test_kept(model): use(model)

@pytest.mark.castscope(max_casts=100)
@pytest.mark.xfail(strict=True, reason="not so")
def test_kept_strict(model): use(model)

@pytest.mark.castscope(max_casts=0)
@pytest.mark.xfail(raises=ValueError)
def test_violated_instead_of_another_error(model): use(model)
""", "--castscope", "-rxXf")
    done.assert_outcomes(xfailed=2, xpassed=1, failed=2)
    done.stdout.fnmatch_lines(["XFAIL *::test_violated*", "XFAIL *::test_violated_strict - too many*",
                               "XPASS *::test_kept*"])
    done.stdout.fnmatch_lines(["*XPASS(strict)* not so*"])
    done.stdout.fnmatch_lines(["FAILED *::test_violated_instead_of_another_error*"])


def test_a_castscope_json_that_is_wrong_is_told_though_all_pass(plugin, pytester):
    (pytester.path / "castscope.json").write_text('{"ignore": ["cache-grow"]}')
    done = plugin("""
import pytest

@pytest.mark.castscope
@pytest.mark.parametrize("n", [1, 2])
def test_a(n): import torch
""", "--castscope")
    done.assert_outcomes(passed=2)
    told = [line for line in done.outlines if "castscope.json:1:13" in line]
    assert len(told) == 1 and 'did you mean "cache-grows"?' in told[0]


def test_a_test_that_kills_its_process_fails_and_the_others_go_on(plugin):
    done = plugin("""
import os, pytest

@pytest.mark.castscope
def test_dies():
    print("last words", flush=True)
    os._exit(7)

@pytest.mark.castscope
def test_lives(): pass
""", "--castscope")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["castscope: the test's process ended before the test did (exit status 7):"])


@pytest.mark.parametrize("mark, sentence", [
    ("(max_cast=1)", "*test_it.py::test_a: @pytest.mark.castscope does not know 'max_cast'*"),
    ("(5)", "*takes named arguments only*"), ("(max_casts=-1)", "*max_casts is a whole number*"),
    ("(forbid='cache-grows')", "*forbid is a list of rules*"),
    ("(forbid=None)", "*forbid is a list of rules, not None*"),
    ("(forbid=['cache-grow'])", "*there is no rule 'cache-grow'; did you mean 'cache-grows'?*")])
def test_marks_that_are_wrong_are_told_before_anything_runs(plugin, mark, sentence):
    done = plugin(f"import pytest\n\n@pytest.mark.castscope{mark}\ndef test_a(): pass\n", "--castscope")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([sentence])


def test_a_folder_that_cannot_be_made_is_wrong_usage(plugin):
    done = plugin("def test_a(): pass\n", "--castscope", "--castscope-dir", "/proc/nope")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*--castscope-dir /proc/nope: *"])


def test_a_test_that_castscope_cannot_see_is_no_pass(plugin, monkeypatch):
    monkeypatch.setenv("CASTSCOPE_OFF", "1")
    done = plugin(LATE + """
@pytest.mark.castscope(max_casts=100)
def test_body(model):
    use(model)
""", "--castscope")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["castscope: castscope did not see this test: *"])


def test_run_files_are_kept_where_they_are_asked_for(plugin, pytester):
    text = "import pytest\n\n@pytest.mark.castscope\ndef test_a(): import torch\n"
    plugin(text, "--castscope", "--castscope-dir", "kept").assert_outcomes(passed=1)
    (report,) = (pytester.path / "kept").glob("001-*/run.json")
    assert json.loads(report.read_text())["run"]["complete"]


def test_the_program_must_be_there(plugin, monkeypatch, pytester):
    monkeypatch.delenv("CASTSCOPE_BIN")
    monkeypatch.setenv("PATH", str(pytester.path))
    pytester.makeconftest("import sys; sys.executable = '/nowhere/python'")  # beside which there is none
    done = plugin("def test_a(): pass\n", "--castscope")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*--castscope needs the program castscope*"])
