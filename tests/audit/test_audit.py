"""The answers of docs/audit.md to an auditor's questions, over reports of twelve kinds of jobs."""

import contextlib
import copy
import io
import json
import os
import re
import shutil
import sqlite3

import jsonschema
import pytest
from audit_jobs import JOBS, record
from blocks import ROOT, blocks_of
from closed_schema import closed

QUESTIONS = [block for block in blocks_of("docs/audit.md") if block.language == "python"]
SCHEMA = json.loads((ROOT / "docs/report.schema.json").read_text())
NAMES = {entry["name"] for entry in json.loads((ROOT / "docs/names.json").read_text())}


VALIDATOR = jsonschema.Draft202012Validator(closed(SCHEMA))


def answer(number, folder):
    """What the block prints where train.json and main.json are."""
    printed = io.StringIO()
    with in_folder(folder), contextlib.redirect_stdout(printed):
        exec(compile(QUESTIONS[number - 1].text, f"question {number}", "exec"), {})  # noqa: S102
    return printed.getvalue()


@contextlib.contextmanager
def in_folder(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def ask(reports):
    def of(number, kind):
        folder = reports[kind].parent
        if not (folder / "main.json").exists():
            shutil.copy(reports["training"], folder / "main.json")
        return answer(number, folder)
    return of


def test_there_are_twenty_questions_of_at_most_ten_lines():
    assert len(QUESTIONS) == 20
    assert [block.line for block in QUESTIONS if block.text.count("\n") > 10] == []


@pytest.mark.parametrize("kind", JOBS)
@pytest.mark.parametrize("number", range(1, 21))
def test_each_question_has_an_answer_of_each_job(number, kind, ask):
    ask(number, kind)


@pytest.mark.parametrize("kind", JOBS)
def test_a_report_has_only_what_is_described(kind, reports):
    report = json.loads(reports[kind].read_text())
    assert [f"{list(error.absolute_path)}: {error.message[:200]}" for error in VALIDATOR.iter_errors(report)] == []
    evidence = {name for finding in report["findings"] for name in finding["evidence"]}
    assert evidence <= NAMES


# The number of the question, the job, and what the answer says of it.
SAID = [
    (1, "training", r"(?m)^36 casts of weight, float32 to bfloat16, by autocast$"),
    (1, "without_autocast", r"1 casts of \w+, float32 to bfloat16, by user_to"),
    (2, "training", r"^job\.py:\d+ copies \d+ bytes"),
    (3, "training", r"0: 12 casts in 6 steps, no_requires_grad"),
    (4, "training", r"at most \d\d+ bytes, 0 of them at the end"),
    (5, "bert", r"aten::linear in forward computes in bfloat16 of"),
    (6, "bert", r"BertForMaskedLM bert\.encoder\.layer\.0\.attention\.self\.query: aten::linear computes in bfloat16"),
    (7, "training", r"job\.py:\d+ aten::layer_norm weight: not_listed|job\.py:\d+ aten::layer_norm"),
    (8, "training", r"casts of weight: no_requires_grad"),
    (9, "training", r"autocast's casts take \d+\.\d % of the steps"),
    (10, "training", r"(?m)^user_to: \d+ casts"),
    (11, "ranks", r"^$"),
    (12, "training", r"the job used no GPU"),
    (13, "training", r"^0 new places of casts"),
    (13, "bert", r"[1-9]\d* new places of casts"),
    (14, "killed", r"(?m)^not complete$[\s\S]*^process_vanished: .*SIGKILL"),
    (14, "without_pytorch", r"no process was seen that used PyTorch's autocast"),
    (14, "ranks", r"(?m)^complete$"),
    (15, "training", r"places of casts"),
    (16, "training", r"PyTorch 2\.\d+\.\d+\S*, Python 3\.\d+[\s\S]*\d+ cores \d+ \d+ threads"),
    (17, "training", r"'deep': 'automatic'[\s\S]*cache-grows: \w+ = \d+"),
    (18, "script", r"'eager': 12, 'script': 12"),
    (18, "script", r"job\.py:\d+ linear: \{'eager': \['bfloat16'\], 'script': \['float16'\]\}"),
    (18, "compile", r"'compiled': [1-9]|[1-9]\d* while tracing"),
    (19, "enforced", r"policy torch-cpu [0-9a-f]{16}"),
    (19, "training", r"PyTorch decided"),
    (20, "ranks", r"all parts add up"),
]


@pytest.mark.parametrize(("number", "kind", "said"), SAID, ids=[f"{number}-{kind}" for number, kind, _ in SAID])
def test_the_answer_is_the_right_one(number, kind, said, ask):
    assert re.search(said, ask(number, kind)), ask(number, kind)


def test_a_rank_that_differs_is_named(reports, tmp_path):
    report = json.loads(reports["ranks"].read_text())
    odd = copy.deepcopy(report["processes"][1])
    odd["rank"], odd["casts"] = 2, odd["casts"] + 1
    report["processes"].append(odd)
    (tmp_path / "train.json").write_text(json.dumps(report))
    assert answer(11, tmp_path).startswith("rank 2: ")


def test_a_report_that_somebody_changed_does_not_add_up(reports, tmp_path):
    report = json.loads(reports["training"].read_text())
    report["sites"][0]["casts"] += 1
    (tmp_path / "train.json").write_text(json.dumps(report))
    with pytest.raises(AssertionError):
        answer(20, tmp_path)


@pytest.mark.parametrize("kind", JOBS)
def test_sql_has_the_fingerprints_of_the_report(kind, reports):
    report = json.loads(reports[kind].read_text())
    with contextlib.closing(sqlite3.connect(reports[kind].with_suffix(".castscope"))) as run_file:
        sites = dict(run_file.execute("SELECT site, fingerprint FROM v_sites WHERE casts > 0"))
        findings = [row[0] for row in run_file.execute("SELECT fingerprint FROM v_findings")]
    assert sites == {site["site"]: site["fingerprint"] for site in report["sites"] if site["casts"]}
    assert findings == [finding["fingerprint"] for finding in report["findings"]]


def test_thousands_of_sites_take_little_room(reports):
    report = json.loads(reports["many"].read_text())
    assert len(report["sites"]) >= 15_000
    rows = reports["many"].read_text().partition('"sites": [')[2].partition("\n ]")[0]
    rows = re.sub(r'_ns":\d+', '_ns":0', rows)  # a slow machine's times have more digits
    assert len(rows.encode()) / len(report["sites"]) < 326, "bytes of a site; in format 1 it had 950"
    assert len(report["layers"]) < 20, "modules that did the same are one row"


IDS = {"run_id", "pid", "parent_pid", "tid", "site", "forward_site", "region", "process", "parent", "behaviour",
       "sites_not_looked_at", "regions_not_looked_at"}
TIMES = re.compile(r"(^|_)ns$|^(start|end)$|share|^deep_operators$|^enforcing_would_save$|^savings$")


def without_ids_and_times(node):
    if isinstance(node, dict):
        return {key: without_ids_and_times(value) for key, value in node.items()
                if key not in IDS and not TIMES.search(key)}
    return [without_ids_and_times(one) for one in node] if isinstance(node, list) else node


@pytest.mark.parametrize("kind", ["training", "loader"])
def test_two_runs_of_a_job_differ_in_ids_and_times_alone(kind, tmp_path):
    # Which steps are looked at goes by time, where not all are, and so does the severity of what saves little.
    (tmp_path / "castscope.json").write_text('{"min_step_share": 0}')
    options = ("--deep", "always", "--config", str(tmp_path / "castscope.json"))
    runs = [record(kind, tmp_path / name, options=options) for name in ("first", "second")]
    first, second = (json.loads(path.read_text()) for path in runs)
    for report in (first, second):  # the folder differs, and where nothing is known of time, so does nothing else
        for key in ("command", "cwd"):
            report["run"].pop(key)
        report.pop("root")
        for process in report["processes"]:
            process.pop("command_line")
    assert without_ids_and_times(first) == without_ids_and_times(second)
