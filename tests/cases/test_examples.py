"""The example that `castscope rules RULE` shows: it runs unchanged on a CPU, the rule finds it, and it prints the
dtypes that its comments name.

And the same example with its fix: nothing is found in it, it runs to its end, and its results are as close to float32
as before, or the words of the fix say what they give up.
"""

import json
import re
import subprocess

import examples
import pytest
import runs

RULES = examples.rules()
FIXED = [name for name, rule in RULES.items() if rule["fixed_example"] is not None]
SEEN = [name for name in FIXED if name != examples.IN_FILE]
FINISHED = [name for name in FIXED if name not in examples.STOPS]
# The share by which an error may grow, and what rounding in float32 may add: the order of a sum may differ.
TOLERANCE, ROUNDING = 1.1, 1e-5


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return examples.Outcome(tmp_path_factory.mktemp("examples"))


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_is_found_in_its_example(rule, outcome):
    if rule in examples.CANNOT:
        assert RULES[rule]["example"].startswith("# "), "says first thing that it cannot"
        assert rule not in outcome.rules_in("example", rule), "it can"
    else:
        assert rule in outcome.rules_in("example", rule)


def test_each_rule_that_can_be_found_here_has_a_fixed_example():
    assert {*FIXED} == {*RULES} - {*examples.CANNOT} | {examples.IN_FILE}


@pytest.mark.parametrize("rule", SEEN)
def test_the_fix_ends_the_finding_and_brings_no_other(rule, outcome):
    found = outcome.rules_in("fixed_example", rule)
    assert rule not in found
    assert found <= outcome.rules_in("example", rule), "findings that the example has not"


def test_the_fix_of_a_program_that_is_judged_by_its_file(outcome):
    def checked(kind):
        done = subprocess.run([runs.CASTSCOPE, "check", "--format", "json",
                               outcome.of(kind, examples.IN_FILE) / "model.pt2"], check=False, capture_output=True)
        return [finding["rule"] for finding in json.loads(done.stdout)["failing_findings"]]

    assert examples.IN_FILE in checked("example")
    assert checked("fixed_example") == []
    assert not outcome.rules_in("fixed_example", examples.IN_FILE)


@pytest.mark.parametrize("rule", FIXED)
def test_the_fixed_example_runs(rule, outcome):
    program = RULES[rule]["fixed_example"]
    assert "except" not in program, "there is no error to be caught any more"
    folder = outcome.of("fixed_example", rule)
    if rule in examples.STOPS:
        assert examples.STOPS[rule][0] in (folder / "job.err").read_text()
    else:
        assert (folder / "job.status").read_text() == "0", (folder / "job.err").read_text()


@pytest.mark.parametrize("rule", FINISHED)
def test_the_fix_gives_up_no_precision_that_it_does_not_name(rule, outcome):
    errors = outcome.errors[rule]
    assert errors, "the program keeps what it computes in a variable"
    worse = {name: (before, after) for name, (before, after) in errors.items()
             if before is not None and not after <= TOLERANCE * before + ROUNDING}
    if rule in examples.TRADED:
        assert worse, "it gives up nothing"
        assert examples.TRADED[rule] in outcome.fix(rule)
    else:
        assert not worse
    assert all(after < 0.02 for _, after in errors.values()), "they are no results of low precision"


DTYPE = re.compile(r"\b(?:b?float16|float32|float64)\b")


def commented(program):
    """Returns the dtypes that the comments beside its prints name, before anything that they say about other code."""
    comments = re.findall(r"^ *print\(.*\)  # ([^;\n]*)", program, re.MULTILINE)
    return [dtype for comment in comments for dtype in DTYPE.findall(comment)]


@pytest.mark.parametrize("kind, rule", [key for key, program in examples.programs().items()
                                        if key[1] not in examples.CANNOT and commented(program)])
def test_it_prints_the_dtypes_that_its_comments_name(kind, rule, outcome):
    printed = DTYPE.findall((outcome.of(kind, rule) / "job.out").read_text())
    assert printed == commented(examples.programs()[kind, rule])


def test_the_tables_name_rules():
    assert {*examples.CANNOT, *examples.ALONE, *examples.WEIGH_TIMES, *examples.TRADED, *examples.STOPS} <= set(RULES)
