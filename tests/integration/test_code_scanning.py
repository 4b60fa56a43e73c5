"""SARIF for code scanning: which commit it is of, what is new, what is silenced, and when nothing is to be uploaded."""

import functools
import json
import os
import re
import subprocess
import sys

import jsonschema
import pytest
import yaml
from program import BUILD, ROOT, Castscope, clean_environment
from report_job import TRAIN, get_json, line_of, record

SCHEMA = json.loads((ROOT / "tests/schemas/sarif-2.1.0.json").read_text())
REPORT = json.loads((ROOT / "docs/report.schema.json").read_text())
NAMES = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
         "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
SILENT = TRAIN.replace("# FINDING", "# castscope: ignore -- FINDING").replace(
    "# ANOTHER", "# castscope: ignore -- ANOTHER")
CLEAN = """\
import torch
x = torch.ones(2, 2, dtype=torch.bfloat16)
with torch.autocast("cpu"):
    x @ x
"""


def run_of(log):
    jsonschema.validators.validator_for(SCHEMA)(SCHEMA).validate(log)
    (run,) = log["runs"]
    return run


def sarif(castscope, *options, run="run.castscope"):
    done = castscope("report", "-f", "sarif", *options, run)
    assert done.returncode == 0, done.stderr
    return run_of(json.loads(done.stdout))


def git(folder, *words):
    done = subprocess.run(["git", *words], cwd=folder, env=os.environ | NAMES, capture_output=True, check=True,
                          text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(castscope):
    folder = castscope.folder
    (folder / "train.py").write_text(TRAIN)
    git(folder, "init", "-q", "-b", "side")
    git(folder, "remote", "add", "origin", "https://me:secret@example.com/a/b.git")
    git(folder, "add", "train.py")
    git(folder, "commit", "-q", "-m", "one")
    return castscope


# --- the commit -------------------------------------------------------------------------------------------------------


def test_the_commit_is_that_of_the_start(checkout):
    commit = git(checkout.folder, "rev-parse", "HEAD")
    # The job itself goes on to another commit.
    job = f"import os; os.environ.update({NAMES!r}); os.system('git commit -q --allow-empty -m two')\n"
    assert checkout.run(sys.executable, "-c", job).returncode == 0
    assert git(checkout.folder, "rev-parse", "HEAD") != commit
    report = checkout.report()
    jsonschema.validators.validator_for(REPORT)(REPORT).validate(report)
    state = report["run"]["checkout_state"]
    assert state == {"git_commit": commit, "git_branch": "side", "git_dirty": state["git_dirty"],
                     "git_origin": "https://example.com/a/b.git"}
    (told,) = sarif(checkout)["versionControlProvenance"]
    assert (told["revisionId"], told["branch"]) == (commit, "side")
    assert told["repositoryUri"] == "https://example.com/a/b.git"
    assert b"secret" not in (checkout.folder / "run.castscope").read_bytes()


@pytest.mark.parametrize("dirty", [False, True])
def test_tracked_files_alone_make_it_dirty(checkout, dirty):
    (checkout.folder / "untracked.txt").write_text("x")
    if dirty:
        (checkout.folder / "train.py").write_text(TRAIN + "\n")
    assert checkout.run("true").returncode == 0
    assert checkout.report()["run"]["checkout_state"]["git_dirty"] is dirty
    (told,) = sarif(checkout)["versionControlProvenance"]
    assert told["properties"] == {"git_dirty": dirty}


def test_where_git_does_not_answer_the_run_goes_on(checkout):
    slow = checkout.folder / "bin"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 1000\n")
    (slow / "git").chmod(0o755)
    environment = clean_environment(PATH=f"{slow}:{os.environ['PATH']}")
    done = checkout.run(sys.executable, "-c", "print(1)", env=environment, timeout=300)
    assert (done.returncode, done.stdout) == (0, b"1\n")
    state = checkout.report()["run"]["checkout_state"]
    assert state["git_dirty"] is None and state["git_commit"]


def test_outside_of_a_checkout_nothing_is_said(castscope):
    castscope.run("true")
    assert castscope.report()["run"]["checkout_state"] is None
    assert "versionControlProvenance" not in sarif(castscope)


# --- the results ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return record(Castscope(tmp_path_factory.mktemp("trained")), sys.executable)


@pytest.fixture(scope="module")
def silent(tmp_path_factory):
    return record(Castscope(tmp_path_factory.mktemp("silent")), sys.executable, SILENT)


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    """The lines have other texts in another function: what was found there is gone, and something else is found."""
    text = TRAIN.replace("# FINDING", "# CHANGED").replace("# ANOTHER", "# CHANGED TOO").replace("Net(", "Model(")
    return record(Castscope(tmp_path_factory.mktemp("edited")), sys.executable, text)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """Records a run called smoke of a job, once for all who ask for it."""
    @functools.cache
    def recorded(deep, *job):
        castscope = Castscope(tmp_path_factory.mktemp("smoke"))
        for name, text in (("train.py", TRAIN), ("killed.py", KILLED)):
            (castscope.folder / name).write_text(text)
        castscope("run", "-o", "smoke", "--deep", deep, "--", *job)
        return castscope
    return recorded


def test_what_a_comment_silences_is_suppressed_and_not_left_out(silent, trained):
    silenced = [one for one in sarif(silent)["results"] if one["suppressions"]]
    assert silenced and all(one["suppressions"][0]["kind"] == "inSource" for one in silenced)
    for one in silenced:
        mark = re.fullmatch("# castscope: ignore -- (FINDING|ANOTHER)", one["suppressions"][0]["justification"])[1]
        assert one["locations"][0]["physicalLocation"]["region"]["startLine"] == line_of(mark, SILENT)
    assert not any("suppressions" in one for one in sarif(trained)["results"])


def test_what_the_settings_silence_is_suppressed_from_outside(castscope, trained):
    (castscope.folder / "castscope.json").write_text('{"ignore": ["*"]}')
    results = sarif(castscope, run=trained.folder / "run.castscope")["results"]
    assert len(results) == len(sarif(trained)["results"]) > 0
    assert {one["suppressions"][0]["kind"] for one in results} == {"external"}


def test_savings_are_those_of_the_report(trained):
    told = [one["properties"].get("savings") for one in sarif(trained)["results"]]
    assert told == [one["savings"] for one in trained.report()["findings"]]
    assert any(one and one["ns_per_step"] > 0 for one in told)


@pytest.mark.parametrize("form", ["run.castscope", "run.json"])
def test_states_against_a_baseline(edited, trained, form):
    baseline = trained.folder / form
    assert {one["baselineState"] for one in sarif(trained, "--baseline", baseline)["results"]} == {"unchanged"}
    results = sarif(edited, "--baseline", baseline)["results"]
    assert {one["baselineState"] for one in results} >= {"new", "absent"}
    gone = [one for one in results if one["baselineState"] == "absent"]
    assert {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in gone} == {"train.py"}


def test_a_baseline_that_did_not_look_leaves_it_unsure(smoke, trained):
    before = smoke("never", sys.executable, "train.py").folder / "smoke.castscope"
    results = sarif(trained, "--baseline", before)["results"]
    assert {one["baselineState"] for one in results} <= {"new", "unchanged"}
    deep = [one for one in results if one["properties"]["deep_only"]]
    why = ("the run of the baseline did not look at such code, or not in every step, or was not recorded in "
           "full, or its job failed")
    assert all(one["properties"]["unsure"] == why for one in deep)


def test_the_rules_that_could_not_judge_are_named(smoke):
    castscope = smoke("never", sys.executable, "-c", CLEAN)
    coverage = {one["rule"]: one for one in castscope.report("smoke")["coverage"]["rules"] if one["judged"] != "full"}
    run = sarif(castscope, run="smoke.castscope")
    notes = run["invocations"][0]["toolConfigurationNotifications"]
    assert {one["associatedRule"]["id"] for one in notes} == set(coverage) != set()
    assert all(coverage[one["associatedRule"]["id"]]["because"] in one["message"]["text"] for one in notes)
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[one["associatedRule"]["index"]]["id"] == one["associatedRule"]["id"] for one in notes)


def test_a_category_of_its_own(trained):
    assert sarif(trained)["automationDetails"]["id"] == "castscope/train/"
    assert sarif(trained, "--category", "nightly/gpu")["automationDetails"]["id"] == "nightly/gpu/"


@pytest.mark.parametrize("words", [["-f", "json", "--category", "x"], ["--baseline", "run.json"],
                                   ["--summary", "--category", "x"]])
def test_other_forms_take_neither(trained, words):
    done = trained("report", *words, "run.castscope")
    assert done.returncode == 2 and b"--baseline and --category are for -f sarif alone" in done.stderr


def test_a_baseline_that_cannot_be_read_is_told(trained, tmp_path):
    (tmp_path / "none.json").write_text("{}")
    for name, sentence in ((tmp_path / "none.json", b"the baseline: "), (tmp_path / "missing", b"cannot be read")):
        done = trained("report", "-f", "sarif", "--baseline", name, "run.castscope")
        assert (done.returncode, done.stdout) == (3, b"") and sentence in done.stderr


# --- what is uploaded -------------------------------------------------------------------------------------------------


def steps_of_the_document():
    (block,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/ci.md").read_text(), re.DOTALL)
    return yaml.safe_load(block)["jobs"]["castscope"]["steps"]


def in_a_shell(castscope, script):
    """As GitHub runs a step; what it writes into $GITHUB_OUTPUT, too."""
    output = castscope.folder / "github_output"
    output.write_text("")
    environment = clean_environment(GITHUB_OUTPUT=output, PATH=f"{BUILD}:{os.environ['PATH']}")
    done = subprocess.run(["bash", "-e", "-c", script], cwd=castscope.folder, env=environment, check=False,
                          capture_output=True, text=True)
    return done, dict(line.split("=", 1) for line in output.read_text().splitlines())


KILLED = TRAIN + "\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"


@pytest.mark.parametrize(("job", "deep", "status", "is_uploaded"), [
    (["true"], "always", "3", False),
    ([sys.executable, "train.py"], "always", "1", True),
    ([sys.executable, "train.py"], "never", "1", False),
    ([sys.executable, "killed.py"], "always", "1", False),
    ([sys.executable, "-c", CLEAN], "always", "0", True),
    ([sys.executable, "-c", CLEAN], "never", "3", False),
])
def test_the_example_uploads_what_was_seen_whole_and_judged(smoke, job, deep, status, is_uploaded):
    castscope = smoke(deep, *job)
    (castscope.folder / "castscope.json").write_text('{"min_step_share": 0}')  # what is saved goes by time
    steps = steps_of_the_document()
    check = next(step for step in steps if step.get("id") == "check")
    done, told = in_a_shell(castscope, check["run"].replace("--fail-on warning", "--fail-on performance"))
    assert done.returncode == 0 and told == {"status": status, "whole": json.dumps(is_uploaded)}, done.stderr
    upload = next(step for step in steps if "upload-sarif" in step.get("uses", ""))
    assert upload["if"] == "steps.check.outputs.whole == 'true'"
    end = steps[-1]["run"].replace("${{ steps.check.outputs.status }}", told["status"])
    assert in_a_shell(castscope, end)[0].returncode == int(status)


def test_github_is_sent_nothing_that_is_silenced(silent):
    (silent.folder / "smoke.castscope").write_bytes((silent.folder / "run.castscope").read_bytes())
    made = next(step for step in steps_of_the_document() if "castscope.sarif" in step.get("run", ""))
    done, _ = in_a_shell(silent, made["run"])
    assert done.returncode == 0, done.stderr
    sent = run_of(json.loads((silent.folder / "castscope.sarif").read_text()))["results"]
    assert len(sent) == len(get_json(silent, "json")["findings"])
    assert not any(one.get("suppressions") for one in sent)
