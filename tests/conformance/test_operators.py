"""Checks what deep steps see of every operator: operators.py has the expectations beside its lines."""

import collections
import json
import pathlib
import re
import sqlite3
import sys

import pytest
import runs

SOURCE = runs.WORKLOADS / "operators.py"
STEPS = 3
MARK = re.compile(r"  # (?P<operator>[\w.]+)\((?P<argument_dtypes>[^)]*)\) "
                  r"in (?P<computed_in>\w+) gives (?P<result_dtype>\w+)$")
# Operators that have nothing to do with precision, or that return the values of their argument unchanged.
LEFT_OUT = {"aten::detach", "aten::view", "aten::expand", "aten::flatten", "aten::narrow", "aten::t", "aten::clone",
            "aten::item", "aten::arange"}


IN_THREAD = "x @ w  # matmul(float32 input, float32 activation)"


class Seen:
    """One run of the workload under castscope."""

    def __init__(self, folder, *options):
        self.outcome = runs.under_castscope([sys.executable, str(SOURCE)], folder, *options)
        assert self.outcome.status == 0, self.outcome.stderr.decode()
        database = sqlite3.connect(folder / "run.castscope")
        database.row_factory = sqlite3.Row
        self.operators, self.flows, self.values, self.flags = (
            [dict(row) for row in database.execute(query)]
            for query in ("SELECT * FROM v_operators", "SELECT * FROM v_flows", "SELECT * FROM v_value_ranges",
                          "SELECT id, use_flags FROM operator_uses"))
        database.close()

    def at(self, line):
        return [use for use in self.operators if use["file"] == str(SOURCE) and use["line"] == line]

    def flags_at(self, line):
        uses = {use["operator_use"] for use in self.at(line)}
        assert uses
        return [row["use_flags"] for row in self.flags if row["id"] in uses]


@pytest.fixture(scope="module")
def always(tmp_path_factory):
    return Seen(tmp_path_factory.mktemp("always") / "run", "--deep", "always")


@pytest.fixture(scope="module")
def never(tmp_path_factory):
    return Seen(tmp_path_factory.mktemp("never") / "run", "--deep", "never")


def line_of(text):
    found = [number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line]
    assert len(found) == 1, f"{text!r} stands on lines {found}"
    return found[0]


def marks():
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        if not line.lstrip().startswith("#") and (found := MARK.search(line)) is not None:
            yield pytest.param(number, found.groupdict(), id=f"{number}-{found['operator']}")


@pytest.mark.parametrize(("line", "mark"), list(marks()))
def test_a_line_says_what_its_operators_do(line, mark, always):
    found = [use for use in always.at(line) if use["operator"] == f"aten::{mark['operator']}"
             and all((use[key] or "") == mark[key] for key in ("argument_dtypes", "computed_in", "result_dtype"))]
    assert sum(use["calls"] for use in found) == STEPS, always.at(line)
    assert not [use for use in always.at(line) if use["operator"] == f"aten::{mark['operator']}"
                and use["operator_use"] not in {other["operator_use"] for other in found}
                and use["argument_dtypes"] == mark["argument_dtypes"]]


def test_operators_are_those_that_the_profiler_sees_outermost(always, tmp_path):
    written = tmp_path / "outermost.json"
    outcome = runs.plain([sys.executable, str(pathlib.Path(__file__).with_name("outermost.py")), str(written)],
                         tmp_path / "profiled")
    assert outcome.status == 0, outcome.stderr.decode()
    expected, computed = collections.Counter(), collections.defaultdict(set)
    for operator, given, again, count in json.loads(written.read_text()):
        if operator not in LEFT_OUT:
            expected[operator, tuple(given)] += count
            computed[operator, tuple(given)] |= set(again or ())
    seen = collections.Counter()
    for use in always.operators:
        if use["function"] in ("elsewhere", "setup", "Net.__init__"):
            continue  # another thread; what the profiler is not asked about
        words = [] if use["operator"] == "aten::cat" else (use["argument_dtypes"] or "").split(", ")
        dtypes = tuple(word.split()[0] for word in words if re.match("float|bfloat", word))
        operator = use["operator"].split(".")[0]
        seen[operator, dtypes] += use["calls"]
        if casts := computed[operator, dtypes]:
            assert use["computed_in"] in casts, use
    assert seen == expected


@pytest.mark.parametrize(("source", "target", "to_dtype"), [
    ("y = self.first(x)", "r = x + y", None),
    ("r = x + y", "n = self.norm(r)", None),
    ("n = self.norm(r)", "h = self.last(f)", "bfloat16"),  # n.float() had nothing to do
    ("h = self.last(f)", "b = h + self.shift", None),
    ("b = h + self.shift", "e = v.exp()", None),  # through views
    ("e = v.exp()", "k = e.bfloat16()", None),
    ("h = self.last(f)", "c = torch.cat([h, f])", "float32"),
    ("p = p.float()", "return torch.outer(", None),
    ("return torch.outer(", "far @ ones", "bfloat16"),
    ("w = x * 2.0", IN_THREAD, None),
    ("up = grad.float()", "by = torch.mm(up, w)", None),
])
def test_values_are_followed(source, target, to_dtype, always):
    found = [flow for flow in always.flows
             if (flow["from_line"], flow["to_line"]) == (line_of(source), line_of(target))]
    assert [flow["to_dtype"] for flow in found] == [to_dtype]
    assert [flow["times"] for flow in found] == [STEPS]


def test_what_no_operator_made_comes_from_nowhere(always):
    assert not [flow for flow in always.flows if flow["to_line"] == line_of("y = self.first(x)")]


def test_positions_are_seen_to_be_integers(always):
    far = [row for row in always.values if row["line"] == line_of("far @ ones") and row["largest"] > 256]
    assert [(row["operator"], row["argument"], row["sampled_dtype"], row["to_dtype"]) for row in far] == [
        ("aten::matmul", "self", "float32", "bfloat16")]
    assert far[0]["sampled_tensors"] == STEPS
    assert far[0]["largest"] == far[0]["largest_integer"] == 70_063
    assert far[0]["integers"] == far[0]["sampled_elements"] == STEPS * 256
    assert far[0]["not_finite"] == far[0]["zeros"] == far[0]["beyond_range"] == 0


def test_what_autocast_does_not_know_is_told_apart(always):
    eligible, sibling, writes, others_open, elsewhere = 1, 2, 8, 128, 256
    assert all(flags & eligible for flags in always.flags_at(line_of("far @ ones")))
    assert all(flags & sibling and flags & writes for flags in always.flags_at(line_of("ones.clone().addmm_")))
    assert all(flags & others_open and flags & eligible for flags in always.flags_at(line_of(IN_THREAD)))
    assert all(flags & elsewhere for flags in always.flags_at(line_of("e = v.exp()")))


def test_a_backward_node_is_named(always):
    assert {use["node"] for use in always.at(line_of("by = torch.mm(up, w)"))} == {"ScaledBackward"}
    assert {use["phase"] for use in always.at(line_of("by = torch.mm(up, w)"))} == {"backward"}


def test_looking_changes_neither_results_nor_counts(always, never):
    assert always.outcome.stdout == never.outcome.stdout
    assert never.operators == never.flows == never.values == []
    keys = ("location", "operator", "argument", "casts", "cache_hits", "cause", "role", "phase")
    sites, without = (sorted(([site[key] for key in keys] for site in seen.outcome.report["sites"]), key=str)
                      for seen in (always, never))
    assert sites == without
    assert always.outcome.report["totals"]["casts"] == never.outcome.report["totals"]["casts"] > 0


def test_of_itself_it_looks_at_the_first_three_steps(tmp_path):
    loop = tmp_path / "loop.py"
    loop.write_text("import torch\n"
                    "x = torch.ones(4, 4)\n"
                    "for _ in range(9):\n"
                    "    with torch.autocast('cpu', dtype=torch.bfloat16):\n"
                    "        x @ x\n")
    outcome = runs.under_castscope([sys.executable, str(loop)], tmp_path / "run")
    assert outcome.status == 0, outcome.stderr.decode()
    with sqlite3.connect(tmp_path / "run" / "run.castscope") as database:
        assert database.execute("SELECT operator, line, calls FROM v_operators").fetchall() == [("aten::matmul", 5, 3)]


@pytest.mark.parametrize("answer", ["0", "often", "-1", ""])
def test_deep_takes_what_it_says_it_takes(answer, tmp_path):
    outcome = runs.under_castscope([sys.executable, "-c", "pass"], tmp_path / "run", "--deep", answer)
    assert outcome.status == 125 and b"--deep" in outcome.stderr
