"""Small jobs that share one start of PyTorch, which takes longer than they do: forks of one process, in one run.

A test names its program in a mark:

    @pytest.mark.job("print(torch.float32)", policy="torch-cpu")  # see pytest_configure

and asks for `ran`, whose .lines are what it printed, or for `report`. All programs of a file that are run alike share a
run; each is a process of its own in it.
"""

import collections
import dataclasses
import functools
import json
import pathlib
import shlex
import sys
import textwrap

import pytest
import runs

FORKS = runs.WORKLOADS / "forks.py"
BETWEEN = "----- the next program -----"
SEPARATED = ("--between", BETWEEN)


def command(programs, *options):
    """The job of all these programs; each is a path, or a path with arguments (see workloads/forks.py)."""
    return [sys.executable, str(FORKS), *map(str, [*options, *programs])]


def under_castscope(programs, folder, *options, between=()):
    """Runs them in one run. Returns its outcome, and of its report what each of the programs did; None where that is
    nothing."""
    pids = folder / "pids.json"
    outcome = runs.under_castscope(command(programs, *between, "--pids", pids), folder, *options)
    assert outcome.status == 0, outcome.stderr.decode(errors="replace")
    processes = {process["pid"]: process for process in outcome.report["processes"]}
    paths = [str(runs.WORKLOADS / shlex.split(str(program))[0]) for program in programs]
    return outcome, [part_of(outcome.report, processes[pid], path, paths) if pid in processes else None
                     for path, pid in zip(paths, json.loads(pids.read_text()), strict=True)]


def part_of(report, process, path, paths):
    """What a report says of the process that ran `path`, one of `paths`: its sites and counts, and the regions and
    findings that are not in the files of the others. A test must not miss a region: one that has no place is in each
    part, unless other processes alone cast in it."""
    sites = [site | row for site in report["sites"] for row in site["by_process"]
             if row["process"] == process["process"]]
    causes = collections.Counter()
    for site in sites:
        if site["cause"] not in ("autocast", "script"):
            causes[site["cause"]] += site["casts"]
    others = {*paths} - {path}
    folders = {str(pathlib.PurePath(other).parent) for other in paths} - {str(pathlib.PurePath(path).parent)}

    def elsewhere(row):
        file = row["location"] and row["location"]["file"]
        return file and (file in others or str(pathlib.PurePath(file).parent) in folders)

    steps = collections.Counter()
    for row in report["step_runs"]:
        if row["process"] == process["process"]:
            steps[row["step_kind"]] += row["last_step"] + 1 - row["first_step"]
    not_here = {site["region"] for site in report["sites"]} - {site["region"] for site in sites}
    here = {key: [row for row in report[key] if not elsewhere(row)] for key in ("regions", "findings")}
    here["regions"] = [row for row in here["regions"] if row["region"] not in not_here]
    here["metrics"], here["step_runs"] = ([row for row in report[key] if row["process"] == process["process"]]
                                          for key in ("metrics", "step_runs"))
    return here | {"sites": sites, "cache": process["cache"],
                   "totals": {key: process[key]
                              for key in ("casts", "cache_hits", "pass_throughs", "traced", "bytes")} |
                             {"step_count": steps["training"], "evaluation_count": steps["evaluation"],
                              "by_cause": [{"cause": cause, "casts": casts} for cause, casts in causes.items()]}}


@dataclasses.dataclass
class Ran:
    """What came of a program."""

    lines: list  # that it printed
    report: dict  # part_of() the run's
    script: pathlib.Path
    group: "Group"

    @property
    def stderr(self):
        """What the whole run wrote to standard error, castscope and the other programs too."""
        return self.group.stderr

    @property
    def alone(self):
        """The lines that it prints without castscope."""
        return self.group.alone[self.script]


def pytest_configure(config):
    config.addinivalue_line("markers", "job(code, policy=None, options=()): the program that `ran` is about; {name} in "
                            "it is a parameter's value; parameters called policy and options count, too")


def job_of(test):
    """(program, policy, options) of a test's mark; None where it has none."""
    mark = test.get_closest_marker("job")
    if mark is None:
        return None
    parameters = test.callspec.params if hasattr(test, "callspec") else {}
    (program,) = mark.args
    for name, value in parameters.items():
        program = program.replace(f"{{{name}}}", str(value))
    how = {"policy": None, "options": ()} | {key: parameters[key] for key in ("policy", "options") if key in parameters}
    how |= mark.kwargs
    return program, json.dumps(how["policy"]), tuple(how["options"])


def printed(outcome, programs):
    """{program: lines}"""
    *texts, after = outcome.stdout.decode().split(BETWEEN + "\n")
    assert not after
    return dict(zip(programs, map(str.splitlines, texts), strict=True))


class Group:
    """The programs of a file that are run alike."""

    def __init__(self, folder, policy, options, printed_alone):
        self.folder, self.policy, self.options = folder, json.loads(policy), options
        self.printed_alone = printed_alone  # {text: lines} of the programs of the file, as far as they have been run
        self.programs = {}
        self.results = self.error = self.stderr = None

    def add(self, test, program):
        script = self.folder / str(len(self.programs)) / "job.py"
        script.parent.mkdir(parents=True)
        script.write_text("import torch\n" + textwrap.dedent(program))
        self.programs[test] = script

    def result_of(self, test):
        if self.error is not None:
            raise self.error
        if self.results is None:
            try:
                self.results = self.run()
            except Exception as error:
                self.error = error
                raise
        return self.results[test]

    def run(self):
        programs = list(self.programs.values())
        outcome, parts = under_castscope(programs, self.folder / "run", *self.enforcing(), *self.options,
                                         between=SEPARATED)
        self.stderr = outcome.stderr.decode()
        lines = printed(outcome, programs)
        return {test: Ran(lines[script], part, script, self)
                for (test, script), part in zip(self.programs.items(), parts, strict=True)}

    @functools.cached_property
    def alone(self):
        texts = {script: script.read_text() for script in self.programs.values()}
        programs = [script for script, text in texts.items() if text not in self.printed_alone]
        if programs:
            outcome = runs.plain(command(programs, *SEPARATED), self.folder / "alone")
            assert outcome.status == 0, outcome.stderr.decode()
            self.printed_alone |= {texts[script]: lines for script, lines in printed(outcome, programs).items()}
        return {script: self.printed_alone[text] for script, text in texts.items()}

    def enforcing(self):
        if self.policy is None:
            return []
        name = self.policy
        if isinstance(self.policy, dict):
            name = self.folder / "policy.json"
            name.write_text(json.dumps(self.policy))
        return ["--enforce", str(name)]


@pytest.fixture(scope="module")
def ran_in_this_file(request, tmp_path_factory):
    """Returns what came of a test's program. All those that are run alike are run at the first question."""
    groups, group_of, printed_alone = {}, {}, {}
    for test in request.session.items:
        if test.path == request.path and (job := job_of(test)) is not None:
            program, *how = job
            if tuple(how) not in groups:
                groups[tuple(how)] = Group(tmp_path_factory.mktemp("jobs"), *how, printed_alone)
            group_of[test.nodeid] = groups[tuple(how)]
            group_of[test.nodeid].add(test.nodeid, program)
    return lambda test: group_of[test].result_of(test)


@pytest.fixture
def ran(request, ran_in_this_file):
    return ran_in_this_file(request.node.nodeid)


@pytest.fixture
def report(ran):
    return ran.report
