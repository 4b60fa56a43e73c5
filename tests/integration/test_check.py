"""castscope check: the gate for CI."""

import json
import sqlite3
import subprocess

import pytest
from gated import FINDS, RULE, TRAIN, have, line_of, record
from program import clean_environment
from reports import read_report

CLEAN = TRAIN.replace(".requires_grad_(False)", "")


@pytest.fixture
def run(castscope, python):
    have(castscope, python)
    return castscope


def as_json(done):
    return json.loads(done.stdout)


def test_a_run_and_its_report_give_the_same_answer(run):
    by_run, by_report = run("check", "-f", "json", "run.castscope"), run("check", "-f", "json", "run.json")
    assert as_json(by_run) | {"checked_file": ""} == as_json(by_report) | {"checked_file": ""}
    assert by_run.returncode == by_report.returncode == 0  # performance is below warning


def test_findings_fail_and_are_told_in_a_few_lines(run):
    done = run("check", "--fail-on", "performance", "run.castscope")
    assert done.returncode == 1 and done.stderr == b""
    text = done.stdout.decode()
    headline = "castscope check: run.castscope fails: 1 finding of severity performance or higher "
    assert " ".join(text.split()).startswith(headline)
    assert f"performance {RULE}  train.py:{line_of(TRAIN)}\n" in text and "    fix: " in text
    assert len(text.splitlines()) < 15


def test_clean_code_is_clean(castscope, python):
    have(castscope, python, CLEAN)
    done = castscope("check", "--fail-on", "info", "run.castscope")
    assert (done.returncode, done.stdout) == (0, b"castscope check: run.castscope clean\n")


def test_only_what_the_baseline_lacks_fails_though_lines_move(run, python):
    (run.folder / "run.json").rename(run.folder / "before.json")
    moved = "# a line above\n# and another\n" + TRAIN
    record(run, python, moved)
    gate = ["check", "--fail-on", "performance", "--baseline", "before.json", "-f", "json", "run.castscope"]
    known = run(*gate)
    assert known.returncode == 0 and as_json(known)["known_findings"][0]["line"] == line_of(moved)
    twice = moved.replace("train()\n", "").replace("def train", "def other") + "\n\nother()\n" + TRAIN
    record(run, python, twice)
    new = run(*gate)
    assert new.returncode == 1 and len(as_json(new)["failing_findings"]) == len(as_json(new)["known_findings"]) == 1
    assert as_json(new)["failing_findings"][0]["function"] == "other"


@pytest.mark.parametrize("limit, status", [(["--max-cast-share", "100%"], 0), (["--max-cast-share", "0%"], 1),
                                           (["--max-cache", "0"], 1), (["--max-cache", "1GiB"], 0)])
def test_limits(castscope, python, limit, status):
    have(castscope, python, CLEAN)
    done = castscope("check", *limit, "run.castscope")
    assert done.returncode == status, done.stdout
    assert limit[0] in done.stdout.decode()


def test_a_run_that_was_not_seen_whole_passes_only_when_allowed(castscope, python):
    (castscope.folder / "train.py").write_text(CLEAN + "\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    castscope.run(python, "train.py")
    done = castscope("check", "run.castscope")
    assert done.returncode == 3 and b"not all of the run was seen" in done.stdout
    assert castscope("check", "--allow-incomplete", "run.castscope").returncode == 0


def test_what_cannot_be_read_is_incomplete_data(run):
    (run.folder / "cut.castscope").write_bytes((run.folder / "run.castscope").read_bytes()[:5000])
    (run.folder / "cut.json").write_bytes((run.folder / "run.json").read_bytes()[:-100])
    (run.folder / "other.json").write_text('{"version": 1}')
    sqlite3.connect(run.folder / "foreign.castscope").execute("CREATE TABLE t (x)").connection.commit()
    (run.folder / "newer.json").write_text(json.dumps(run.report() | {"format": 99}))
    for name in ("cut.castscope", "cut.json", "other.json", "foreign.castscope", "newer.json", "gone.json", "."):
        done = run("check", name)
        assert (done.returncode, done.stdout) == (3, b""), name
        assert done.stderr.count(b"\n") == 1 and name.encode() in done.stderr, done.stderr


def test_a_file_that_was_cut_short_gives_no_verdict_and_no_baseline(run):
    whole = (run.folder / "run.castscope").read_bytes()
    (run.folder / "cut.castscope").write_bytes(whole[: len(whole) * 19 // 20])
    for allowed in ([], ["--allow-incomplete"]):
        done = run("check", *allowed, "cut.castscope")
        assert done.returncode == 3 and done.stdout.startswith(b"castscope check: cut.castscope inconclusive")
        assert b"cut short: " in done.stdout
    assert run("check", "-f", "json", "cut.castscope").returncode == 3
    done = run("check", "--baseline", "cut.castscope", "run.castscope")
    assert done.returncode == 3 and b"the baseline: cut.castscope: the run file is cut short" in done.stderr
    done = run("diff", "run.castscope", "cut.castscope")
    assert done.returncode == 3 and done.stdout and b"cut.castscope: the run file is cut short" in done.stderr


def test_a_baseline_of_another_schema_cannot_be_read(run):
    (run.folder / "old.json").write_text('{"runs": []}')
    done = run("check", "--baseline", "old.json", "run.castscope")
    assert done.returncode == 3 and b"the baseline: old.json is not a castscope report" in done.stderr


@pytest.mark.parametrize("wrong, sentence", [(["--max-cast-share", "5"], b"as in 5%"),
                                             (["--max-cast-share", "1"], b"as in 0.05"),
                                             (["--max-cache", "2 Gigs"], b"as in 2GiB"),
                                             (["--fail-on", "fatal"], b"--fail-on"),
                                             (["--bogus"], b"castscope check --help")])
def test_wrong_usage(run, wrong, sentence):
    done = run("check", *wrong, "run.castscope")
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count(b"\n") == 1


def test_json_beside_the_text(run):
    done = run("check", "--json", "check.json", "run.castscope")
    told = json.loads((run.folder / "check.json").read_text())
    assert done.stdout.startswith(b"castscope check: ")
    assert (told["outcome"], told["check_exit_status"]) == ("clean", 0)
    assert [finding["rule"] for finding in told["below_fail_on"]] == [RULE]
    assert run("check", "--json", "no/such/folder.json", "run.castscope").returncode == 2


def test_a_comment_silences_its_line(castscope, python):
    record(castscope, python, TRAIN.replace(FINDS, FINDS + f"  # castscope: ignore[{RULE}]"))
    done = castscope("check", "--fail-on", "info", "run.castscope")
    assert done.returncode == 0 and b"1 finding ignored by comments in the code" in done.stdout
    assert castscope.report()["findings"] == [] and castscope.report()["ignored"]["in_code"] == 1
    record(castscope, python, TRAIN.replace(FINDS, FINDS + "  # castscope: ignore[cache-*]"))
    assert castscope("check", "--fail-on", "info", "run.castscope").returncode == 1


def test_a_run_in_which_nothing_was_seen_does_not_pass(castscope):
    assert castscope("run", "-o", "none", "--", "true").returncode == 0
    done = castscope("check", "--max-cast-share", "5%", "none.castscope")
    assert done.returncode == 3 and b"no process was seen that used" in done.stdout


def test_a_job_that_failed_does_not_pass_as_clean(castscope, python):
    (castscope.folder / "train.py").write_text("import torch\nraise SystemExit(7)\n")
    assert castscope("run", "-o", "run", "--", python, "train.py").returncode == 7
    done = castscope("check", "run.castscope")
    assert done.returncode == 3 and b"the job failed (exit status 7)" in done.stdout
    assert castscope("check", "--allow-incomplete", "run.castscope").returncode == 0


@pytest.mark.parametrize("target", ["run.castscope", "before.json", "mine.txt"])
def test_the_json_never_goes_over_what_is_read_nor_over_a_file_unasked(run, target):
    (run.folder / "before.json").write_bytes((run.folder / "run.json").read_bytes())
    (run.folder / "mine.txt").write_text("mine")
    before = (run.folder / target).read_bytes()
    done = run("check", "--baseline", "before.json", "--json", target, "run.castscope")
    assert done.returncode == 2 and target.encode() in done.stderr and (run.folder / target).read_bytes() == before
    forced = run("check", "--baseline", "before.json", "--json", target, "--force", "run.castscope")
    assert forced.returncode == (0 if target == "mine.txt" else 2)


@pytest.mark.parametrize("option", ["--max-cast-share", "--max-cache", "--baseline", "--config", "--json"])
def test_an_option_of_an_empty_variable_is_not_left_out(run, option):
    done = run("check", option, "", "run.castscope")
    assert done.returncode == 2 and option.encode() in done.stderr and b"empty" in done.stderr


def test_reports_come_through_pipes(run):
    command = [run.program, "check", "--fail-on", "performance", "/dev/stdin"]
    done = subprocess.run(command, input=(run.folder / "run.json").read_bytes(), capture_output=True, check=False)
    assert done.returncode == 1 and RULE.encode() in done.stdout


def test_limits_that_look_alike_are_told_in_full(castscope, python):
    have(castscope, python, CLEAN)
    peak = read_report(castscope.folder / "run.json")["cache"]["cache_peak_bytes"]
    done = castscope("check", "--max-cache", str(peak - 1), "run.castscope")
    assert done.returncode == 1 and f"{peak:,} bytes, more than {peak - 1:,} bytes".encode() in done.stdout


@pytest.mark.parametrize("change, sentence", [
    (lambda report: report["findings"][0].update(severity="grave"), b'"grave" is not a severity'),
    (lambda report: report.pop("findings"), b'not a complete castscope report: "findings" is missing'),
    (lambda report: report.update(findings={}), b'"findings" is not a list'),
    (lambda report: report.update(processes=1), b'"processes" is not a list'),
    (lambda report: report["run"].pop("exit_status"), b'"run.exit_status" is missing'),
    (lambda report: report["totals"].update(cpu_ns=1e30), b'"totals.cpu_ns" is not a whole number'),
    (lambda report: report["cache"].update(cache_peak_bytes=-1), b'"cache.cache_peak_bytes" is not a whole number')])
def test_a_report_that_was_changed_is_no_report(run, change, sentence):
    report = read_report(run.folder / "run.json")
    change(report)
    (run.folder / "other.json").write_text(json.dumps(report))
    done = run("check", "other.json")
    assert done.returncode == 3 and sentence in done.stderr and b"exception" not in done.stderr
    as_baseline = run("check", "--baseline", "other.json", "run.castscope")
    assert as_baseline.returncode == 3 and sentence in as_baseline.stderr


def test_a_source_that_changed_meanwhile_is_told(castscope, python):
    text = TRAIN.replace(FINDS, f"{FINDS}  # castscope: ignore")
    (castscope.folder / "train.py").write_text(f"{text}\nimport pathlib\npathlib.Path(__file__).touch()\n")
    assert castscope("run", "-o", "run", "--", python, "train.py").returncode == 0
    for form in (["check", "--fail-on", "performance"], ["report", "-f", "md"]):
        done = castscope(*form, "run.castscope")
        assert b"train.py was written to or replaced after the run began" in b" ".join(done.stdout.split()), form


def test_a_line_that_is_no_utf8_is_known_from_a_report_too(castscope, python):
    text = "# -*- coding: latin-1 -*-\n" + TRAIN.replace(FINDS, f"{FINDS}  # caf\xe9")
    (castscope.folder / "train.py").write_bytes(text.encode("latin-1"))
    assert castscope("run", "-o", "run", "--", python, "train.py").returncode == 0
    gate = ["check", "--fail-on", "info", "--baseline"]
    assert castscope(*gate, "run.json", "run.castscope").returncode == 0
    assert castscope(*gate, "run.castscope", "run.json").returncode == 0


@pytest.mark.parametrize("folder", [".", "sub"])
def test_a_path_is_ignored_wherever_in_the_checkout_the_job_began(castscope, python, folder):
    (castscope.folder / ".git").mkdir()
    (castscope.folder / "sub").mkdir()
    (castscope.folder / "elsewhere").mkdir()
    (castscope.folder / "train.py").write_text(TRAIN)
    settings = castscope.folder / "elsewhere" / "rules.json"
    settings.write_text('{"per-path-ignores": {"train.py": ["*"]}}')
    run_file = castscope.folder / "run"
    done = castscope("run", "-o", run_file, "--", python, castscope.folder / "train.py", cwd=castscope.folder / folder)
    assert done.returncode == 0, done.stderr
    done = castscope("check", "--fail-on", "info", "--config", settings, "run.castscope")
    assert done.returncode == 0 and b"1 finding ignored by" in done.stdout


def test_the_report_of_an_earlier_run_is_gone_while_the_new_one_is_recorded(castscope, python):
    have(castscope, python, CLEAN)
    code = "import os; print(os.environ['CASTSCOPE_RUN'], flush=True); input()"
    job = subprocess.Popen([castscope.program, "run", "--force", "-o", "run", "--", python, "-c", code],
                           cwd=castscope.folder, env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    directory = job.stdout.readline().decode().strip()
    assert b"recording into" in job.stderr.readline()
    job.kill()
    job.wait()
    job.communicate(b"\n")
    assert castscope("check", "run.json").returncode == 3
    assert castscope("check", "run.castscope").returncode == 3
    castscope("recover", directory)


def test_of_a_file_that_is_neither_run_nor_report_no_more_is_read_than_its_beginning(castscope):
    """100 GB of zeros, which take no room on the disk; there is memory for a hundredth of them."""
    with (castscope.folder / "sparse.castscope").open("wb") as file:
        file.truncate(100 << 30)
    for words in (("check", "sparse.castscope"), ("diff", "sparse.castscope", "sparse.castscope")):
        done = subprocess.run(["sh", "-c", 'ulimit -v 1048576; exec "$@"', "sh", castscope.program, *words],
                              cwd=castscope.folder, env=clean_environment(), capture_output=True, text=True,
                              timeout=300, check=False)
        assert done.returncode == 3 and done.stderr.count("\n") == 1, done
        assert "sparse.castscope is neither a run file nor a report" in done.stderr, done
