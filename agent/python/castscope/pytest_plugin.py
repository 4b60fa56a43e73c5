"""pytest --castscope: tests with the mark `castscope` run under castscope, and fail if they violate the mark.

    @pytest.mark.castscope(max_casts=4, forbid=["cache-stale-weight", "dtype-*"])

max_casts: how often autocast may cast in the test's body (its fixtures do not count). forbid: rules that must find
nothing in the test's process (its fixtures do count). docs/decisions/pytest.md tells why each test has its own process.
"""

from __future__ import annotations

import difflib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Any

import pytest

from castscope.body_casts import casts_of_body
from castscope.report_places import counted, place

_CHILD = "CASTSCOPE_PYTEST_CHILD"  # in the environment of a test's own process: JSON, {"node": …, "out": …}
_KEYS = ("max_casts", "forbid")


def pytest_addoption(parser):
    group = parser.getgroup("castscope", "precision casts of autocast")
    group.addoption("--castscope", action="store_true", default=None,
                    help="run tests marked with castscope under castscope, and check what the mark asks for")
    group.addoption("--castscope-dir", metavar="DIR",
                    help="keep the run file and the report of each such test in this folder")
    parser.addini("castscope", "behave as if --castscope were given", type="bool", default=False)


def pytest_configure(config):
    config.addinivalue_line("markers", "castscope(max_casts=N, forbid=[RULE, …]): with --castscope the test runs under "
                                       "castscope; it fails when its body makes more casts or a rule finds something")
    if _CHILD in os.environ:
        config.pluginmanager.register(_Child(config, json.loads(os.environ[_CHILD])), "castscope-child")
    else:
        config.pluginmanager.register(_Gate(config), "castscope-gate")


class Wanted:
    """The limits that the marks of a test set; `of` returns None for a test without marks."""

    def __init__(self):
        self.max_casts = None
        self.forbid = []

    @classmethod
    def of(cls, item):
        marks = list(item.iter_markers("castscope"))  # the closest first
        if not marks:
            return None
        wanted = cls()
        for mark in marks:
            wanted._add(item, mark)
        return wanted

    def _add(self, item, mark):
        where = f"{item.nodeid}: @pytest.mark.castscope"
        unknown = sorted(set(mark.kwargs) - set(_KEYS))
        if mark.args or unknown:
            wrong = f"does not know {unknown[0]!r}" if unknown else "takes named arguments only"
            raise pytest.UsageError(f"{where} {wrong}: it takes max_casts=N and forbid=[RULE, …]")
        most = mark.kwargs.get("max_casts")
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 0):
            raise pytest.UsageError(f"{where}: max_casts is a whole number, 0 or more, not {most!r}")
        forbid = mark.kwargs.get("forbid", [])
        if not isinstance(forbid, (list, tuple, set, frozenset)) or not all(isinstance(rule, str) for rule in forbid):
            raise pytest.UsageError(f"{where}: forbid is a list of rules, not {forbid!r}")
        self.max_casts = most if self.max_casts is None else self.max_casts
        self.forbid += [rule for rule in forbid if rule not in self.forbid]


def _matches(pattern, rule):
    return rule.startswith(pattern[:-1]) if pattern.endswith("*") else rule == pattern


class _Gate:
    """In the user's pytest: gives each marked test a process of its own under castscope."""

    def __init__(self, config):
        self.config = config
        self.enabled = config.getoption("castscope") or config.getini("castscope")
        self.folder = None
        self.kept = False
        self.unobserved = 0
        self.number = 0
        self.rules = None
        self.program: Any = _find_program() if self.enabled else None
        if self.enabled and config.getoption("castscope_dir"):
            _make_folder(config.getoption("castscope_dir"))

    @pytest.hookimpl(trylast=True)  # tests that other plugins deselect do not run
    def pytest_collection_modifyitems(self, items):
        for item in items:
            wanted = Wanted.of(item)
            if wanted is None:
                continue
            self.unobserved += not self.enabled
            if self.enabled and wanted.forbid:
                self._check_rules(item, wanted.forbid)

    def _check_rules(self, item, patterns):
        if self.rules is None:
            listed = subprocess.run([self.program, "rules", "-f", "json"], capture_output=True, text=True, check=True)
            self.rules = [rule["rule"] for rule in json.loads(listed.stdout)["rules"]]
        for pattern in patterns:
            if not any(_matches(pattern, rule) for rule in self.rules):
                near = difflib.get_close_matches(pattern, self.rules, 1)
                meant = f"; did you mean {near[0]!r}?" if near else ""
                raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.castscope: there is no rule {pattern!r}{meant} "
                                        "(`castscope rules` lists them)")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        wanted = Wanted.of(item) if self.enabled else None
        if wanted is None:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._reports(item, wanted):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        # Tear down what the test before this set up for its neighbours and no test to come needs. Otherwise pytest
        # would meet it at the next test that does run here.
        item.session._setupstate.teardown_exact(nextitem)
        return True

    def _reports(self, item, wanted):
        folder = self._folder_of(item)
        done = _run_child(self.config, self.program, item, folder)
        told = _read_lines(folder / "reports.jsonl")
        reports = [_report_of(self.config, line) for line in told if "castscope_measured" not in line]
        measured = next((line["castscope_measured"] for line in told if "castscope_measured" in line), None)
        if not any(report.when == "teardown" for report in reports):
            return [*reports, _own_report(item, "the test's process ended before the test did "
                                                f"(exit status {done}):\n" + _tail(folder / "output.txt"))]
        body = next((report for report in reports if report.when == "call"), None)
        if body is not None and measured is not None:
            # For the body, and once more where junitxml takes properties from.
            for report in {id(body): body, id(reports[-1]): reports[-1]}.values():
                report.user_properties.append(("castscope_casts", measured.get("casts", 0)))
            if body.outcome == "passed" or _passed_against_strict_xfail(body):
                _hold(item, body, wanted, measured, folder)
        wrong_settings = _wrong_settings(folder / "output.txt")
        if wrong_settings:
            reports[-1].castscope_settings = wrong_settings  # an attribute comes through pytest-xdist, too
        return reports

    def _folder_of(self, item):
        if self.folder is None:
            kept = self.config.getoption("castscope_dir")
            self.kept = kept is not None
            self.folder = pathlib.Path(kept or tempfile.mkdtemp(prefix="castscope-pytest-")).absolute()
        self.number += 1
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in item.nodeid.replace("/", "."))[-100:]
        folder = self.folder / f"{self.number:03d}-{name}"
        if hasattr(self.config, "workerinput"):
            folder = self.folder / f"{self.config.workerinput['workerid']}-{folder.name}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def pytest_terminal_summary(self, terminalreporter):
        counts = [value for reports in terminalreporter.stats.values() for report in reports
                  if getattr(report, "when", "") == "call" for name, value in getattr(report, "user_properties", [])
                  if name == "castscope_casts"]
        if counts:
            kept = f"; run files in {self.config.getoption('castscope_dir')}" \
                if self.config.getoption("castscope_dir") else ""
            terminalreporter.write_line(f"castscope: {counted(len(counts), 'test')} observed, "
                                        f"{counted(sum(counts), 'cast')} in their bodies{kept}")
        told = {report.castscope_settings for reports in terminalreporter.stats.values() for report in reports
                if hasattr(report, "castscope_settings")}
        for sentence in sorted(told):
            terminalreporter.write_line(sentence)
        if self.unobserved:
            terminalreporter.write_line(f"castscope: {counted(self.unobserved, 'marked test')} ran unobserved; "
                                        "--castscope checks what their marks ask for")

    def pytest_unconfigure(self):
        if self.folder is not None and not self.kept:
            shutil.rmtree(self.folder, ignore_errors=True)


def _make_folder(path):
    try:
        pathlib.Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"--castscope-dir {path}: {error.strerror}") from None


def _find_program():
    beside = pathlib.Path(sys.executable).parent / "castscope"
    found = os.environ.get("CASTSCOPE_BIN") or shutil.which("castscope") or (str(beside) if beside.exists() else None)
    if found is None:
        raise pytest.UsageError("--castscope needs the program castscope: put it on PATH, or name it in CASTSCOPE_BIN")
    return found


def _run_child(config, program, item, folder):
    """Runs pytest with the same arguments; that process runs only this test. Returns its exit status."""
    workerinput = getattr(config, "workerinput", None)
    arguments = list(workerinput["mainargv"][1:] if workerinput else config.invocation_params.args)
    arguments.append(f"--basetemp={folder / 'tmp'}")  # a given one belongs to this process, and is emptied first
    if config.pluginmanager.hasplugin("xdist"):
        arguments.append("-n0")
    flags: list[str] = getattr(subprocess, "_args_from_interpreter_flags", list)()
    # `python -m pytest` has the present folder on its path, `pytest` has not.
    start = ["-m", "pytest"] if {"", os.getcwd()} & set(sys.path) else \
        ["-c", "import sys; sys.path.pop(0); import pytest; sys.exit(pytest.console_main())"]
    node = "::".join([str(item.path), *item.nodeid.split("::")[1:]])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    environment[_CHILD] = json.dumps({"node": node, "id": item.nodeid, "out": str(folder / "reports.jsonl")})
    command = [program, "run", "-o", str(folder / "run"), "--", sys.executable, *flags, *start, *arguments]
    with open(folder / "output.txt", "wb") as output:
        return subprocess.run(command, env=environment, cwd=config.invocation_params.dir, stdin=subprocess.DEVNULL,
                              stdout=output, stderr=subprocess.STDOUT, check=False).returncode


_DEFAULTS_COUNT = "; the rules' defaults count instead"
_STRICT = "[XPASS(strict)] "


def _wrong_settings(output):
    """castscope's message about a castscope.json that is wrong, which does not end a job; "" when it is right."""
    lines = output.read_text(errors="replace").splitlines() if output.exists() else []
    return next((line for line in lines if line.startswith("castscope: ") and line.endswith(_DEFAULTS_COUNT)), "")


def _passed_against_strict_xfail(body):
    return body.outcome == "failed" and isinstance(body.longrepr, str) and body.longrepr.startswith(_STRICT.rstrip())


def _expects_violations(mark):
    """Whether this xfail was written for AssertionError, which a violated mark raises."""
    raises = mark.kwargs.get("raises")
    if hasattr(raises, "matches"):  # pytest.RaisesExc
        return raises.matches(AssertionError("castscope"))
    return raises is None or isinstance(AssertionError(), raises)


def _fail(item, body, text):
    """The outcome that pytest gives a test that raises AssertionError(text): failed, or failed as xfail expected."""
    expected = getattr(body, "wasxfail", None)
    if expected is None and _passed_against_strict_xfail(body):
        expected = body.longrepr[len(_STRICT):]
    body.longrepr = text
    if expected is not None and all(map(_expects_violations, item.iter_markers("xfail"))):
        body.outcome, body.wasxfail = "skipped", expected
    else:
        body.outcome = "failed"
        vars(body).pop("wasxfail", None)


def _hold(item, body, wanted, measured, folder):
    """Fails a test that passed if it does not keep the limits of its marks."""
    wrong = []
    # Where pytest is itself one of several ranks of a launcher, the run has the rank's number: run-rank0.json.
    report = _read_json(next(iter(sorted(folder.glob("run*.json"))), folder / "run.json"))
    if "error" in measured:
        wrong.append(f"castscope did not see this test: {measured['error']}\n" + _tail(folder / "output.txt"))
    elif report is None:
        wrong.append("castscope made no report of this test:\n" + _tail(folder / "output.txt"))
    else:
        if wanted.max_casts is not None and measured["casts"] > wanted.max_casts:
            wrong.append(f"the body made {counted(measured['casts'], 'cast')}, max_casts is {wanted.max_casts}\n"
                         + casts_of_body(report, item, measured["casts"]))
        if wanted.forbid:
            wrong += _forbidden(report, wanted.forbid)
    if wrong:
        _fail(item, body, "\n".join("castscope: " + text.rstrip() for text in wrong))


def _forbidden(report, patterns):
    found = [finding for finding in report["findings"]
             if any(_matches(pattern, finding["rule"]) for pattern in patterns)]
    wrong = [f"forbidden: {finding['severity']} {finding['rule']} at {place(report, finding['location'])}\n"
             f"    {finding['title']}.\n    fix: {finding['fix']}" for finding in found]
    if not wrong and not report["run"]["complete"]:
        notices = "".join(f"    {notice}\n" for notice in report["run"]["notices"])
        wrong.append("it is not known whether a forbidden rule finds something, since not all of the test's process "
                     "was seen\n" + notices)
    return wrong


def _report_of(config, line):
    """A report as the child made it; JSON has turned its tuples into lists."""
    report = config.hook.pytest_report_from_serializable(config=config, data=line)
    report.location = tuple(report.location)
    report.user_properties = [tuple(entry) for entry in report.user_properties]
    report.sections = [tuple(entry) for entry in report.sections]
    if isinstance(report.longrepr, list):  # for a skip: file, line, reason
        report.longrepr = tuple(report.longrepr)
    return report


def _own_report(item, text):
    return pytest.TestReport(nodeid=item.nodeid, location=item.location, keywords={name: 1 for name in item.keywords},
                             outcome="failed", longrepr="castscope: " + text, when="call")


def _read_json(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def _read_lines(path):
    """The lines that the child wrote; an unfinished line is left out."""
    try:
        return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    except OSError:
        return []


def _tail(path):
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    return "\n".join("    " + line for line in lines[-30:])


class _Child:
    """In a test's own process: runs the test, and tells how it went and what its body cast."""

    def __init__(self, config, task):
        self.config = config
        self.task = task

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session):
        session.config.args = [self.task["node"]]
        for option in ("usepdb", "stepwise", "collectonly"):
            if hasattr(session.config.option, option):
                setattr(session.config.option, option, False)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid == self.task["id"]][:1]

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self):
        before = _counts()
        yield
        after = _counts()
        wrong = before.get("error") or after.get("error")
        self._tell({"castscope_measured": {"error": wrong} if wrong else
                    {name: after[name] - before[name] for name in after}})

    def pytest_runtest_logreport(self, report):
        self._tell(self.config.hook.pytest_report_to_serializable(config=self.config, report=report))

    def _tell(self, what):
        with open(self.task["out"], "a", encoding="utf-8") as out:
            out.write(json.dumps(what, default=str) + "\n")


_COUNTED = ("casts", "cache_hits", "pass_throughs", "traced", "bytes")


def _counts():
    """The casts of this process until now, or {"error": …}."""
    import castscope

    if "torch" not in sys.modules:
        return dict.fromkeys(_COUNTED, 0)
    if not castscope.attached():
        return {"error": "PyTorch is there, castscope is not attached to it"}
    asked = subprocess.run([os.environ["CASTSCOPE_BIN"], "counts", os.environ["CASTSCOPE_RUN"], str(os.getpid())],
                           capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        return {"error": asked.stderr.strip() or f"`castscope counts` ended with {asked.returncode}"}
    counts = json.loads(asked.stdout)
    return {name: counts[name] for name in _COUNTED}
