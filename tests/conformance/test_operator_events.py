"""Operators and pass-throughs of deep steps as events: each is reported as often as it was counted, where it
happened."""

import collections
import json
import pathlib
import sqlite3
import subprocess
import sys

import pytest
import runs
from test_operators import LEFT_OUT, SOURCE

COMMAND = [sys.executable, str(SOURCE)]
CLOCK_NS = 2000  # times of two events are converted by two readings of the clock


class Told:
    """One run of the workload, and its events."""

    def __init__(self, folder, *options):
        self.outcome = runs.under_castscope(COMMAND, folder, "--keep", "all", *options)
        assert self.outcome.status == 0, self.outcome.stderr.decode()
        database = sqlite3.connect(folder / "run.castscope")
        database.row_factory = sqlite3.Row
        self.uses = {row["operator_use"]: dict(row) for row in database.execute("SELECT * FROM v_operators")}
        database.close()
        converted = subprocess.run([str(runs.CASTSCOPE), "convert", str(folder / "run.castscope")],
                                   capture_output=True, check=True, timeout=runs.LIMIT_S)
        self.events = [json.loads(line) for line in converted.stdout.splitlines()]

    def of(self, kind):
        return [event for event in self.events if event["event_kind"] == kind]

    def by_lane(self, kind):
        lanes = collections.defaultdict(list)
        for event in self.of(kind):
            lanes[event["lane"]].append((event["time_ns"], event["time_ns"] + event["duration_ns"], event))
        return lanes


@pytest.fixture(scope="module")
def always(tmp_path_factory):
    return Told(tmp_path_factory.mktemp("always") / "run", "--deep", "always")


@pytest.fixture(scope="module")
def sometimes(tmp_path_factory):
    return Told(tmp_path_factory.mktemp("sometimes") / "run", "--deep", "2")


@pytest.mark.parametrize("mode", ["always", "sometimes"])
def test_each_use_is_told_as_often_as_it_was_counted(mode, request):
    told = request.getfixturevalue(mode)
    times, size = collections.Counter(), collections.Counter()
    for event in told.of("operator"):
        times[event["operator_use"]] += 1
        size[event["operator_use"]] += event["result_bytes"]
    assert times
    assert times == {number: use["calls"] for number, use in told.uses.items() if use["calls"] > 0}
    assert all(size[number] == told.uses[number]["result_bytes"] for number in times)
    assert told.outcome.report["totals"]["events_lost"] == 0


def test_operators_told_are_those_that_the_profiler_sees_outermost(always, tmp_path):
    written = tmp_path / "outermost.json"
    outcome = runs.plain([sys.executable, str(pathlib.Path(__file__).with_name("outermost.py")), str(written)],
                         tmp_path / "profiled")
    assert outcome.status == 0, outcome.stderr.decode()
    expected = collections.Counter()
    for operator, _given, _again, count in json.loads(written.read_text()):
        if operator not in LEFT_OUT:
            expected[operator] += count
    seen = collections.Counter(
        event["operator"].split(".")[0] for event in always.of("operator")
        if always.uses[event["operator_use"]]["function"] not in ("elsewhere", "setup", "Net.__init__"))
    assert seen == expected


def test_each_pass_through_is_told(always, tmp_path):
    counted = runs.under_oracle(COMMAND, tmp_path / "oracle").counts
    assert counted.pass_throughs > 0
    assert len(always.of("pass_through")) == always.outcome.report["totals"]["pass_throughs"] == counted.pass_throughs
    assert {event["operator"] for event in always.of("pass_through")} == {"aten::cat"}  # `f` is float32 already
    assert not [event for event in always.of("pass_through") if "from_dtype" in event or "to_dtype" in event]


def test_outside_deep_steps_none_is_told(sometimes, tmp_path):
    assert 0 < len(sometimes.of("pass_through")) < sometimes.outcome.report["totals"]["pass_throughs"]
    never = Told(tmp_path / "never", "--deep", "never")
    assert never.of("cast")
    assert never.of("operator") == never.of("pass_through") == []


def test_an_operator_lasts_from_its_begin_to_its_end(always):
    operators = always.by_lane("operator")
    assert operators
    for lane in operators.values():
        outermost = sorted(span[:2] for span in lane if span[2]["operator_depth"] == 0)
        assert all(after[0] >= before[1] - CLOCK_NS for before, after in zip(outermost, outermost[1:]))
    casts = [(lane, begin, end) for lane, spans in always.by_lane("cast").items()
             for begin, end, event in spans if event["cause"] == "autocast"]
    assert casts
    for lane, begin, end in casts:
        assert any(first <= begin + CLOCK_NS and end <= last + CLOCK_NS for first, last, _ in operators[lane])
