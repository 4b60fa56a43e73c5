"""Reads what castscope reported about a run, in the words of the tests here."""

import json
import subprocess

import runs
from reports import read_report

CASTSCOPE = runs.CASTSCOPE
PACKAGE = runs.ROOT / "agent" / "python"


def environment():
    """An environment with the package `castscope` importable, as if it were installed."""
    return runs.clean_environment() | {"PYTHONPATH": str(PACKAGE)}


def plain(fact):
    """Returns an operator's name without its namespace; other names stay as they are."""
    return fact.removeprefix("aten::") if isinstance(fact, str) else fact


class Run:
    def __init__(self, jobs, name, printed, screen):
        self.jobs, self.name, self.printed, self.screen = jobs, name, printed.splitlines(), screen
        self.report = read_report(f"{name}.json")
        self.totals = self.report["totals"]

    def rules(self):
        """Returns the rules of the findings, each once."""
        return {finding["rule"] for finding in self.report["findings"]}

    def finding(self, rule):
        """Returns the one finding of this rule."""
        found = [finding for finding in self.report["findings"] if finding["rule"] == rule]
        assert len(found) == 1, f"{rule}: {len(found)} of {sorted(self.rules())}"
        return found[0]

    def line(self, mark):
        """Returns the line of the jobs' file that has this mark."""
        lines = [number for number, text in enumerate(self.jobs.read_text().splitlines(), 1)
                 if text.endswith(f"# mark: {mark}")]
        assert len(lines) == 1, f"{len(lines)} lines are marked {mark}"
        return lines[0]

    def found_at(self, rule, mark):
        """Whether the one finding of this rule is at the marked line."""
        place = self.finding(rule)["location"]
        return (place["file"], place["line"]) == (str(self.jobs), self.line(mark))

    def text(self, rule):
        """Returns the whole text of the one finding of this rule."""
        finding = self.finding(rule)
        return " ".join([finding["title"], finding["fix"], json.dumps(finding["evidence"])])

    def as_format(self, form):
        """Returns the report in another form, as text."""
        return subprocess.run([CASTSCOPE, "report", f"{self.name}.castscope", "-f", form], check=True, text=True,
                              capture_output=True, timeout=300).stdout

    def sites(self, **facts):
        return [site for site in self.report["sites"] if all(plain(site[key]) == value for key, value in facts.items())]

    def operators(self, **facts):
        return {plain(site["operator"]) for site in self.sites(**facts)}

    def casts(self, **facts):
        return sum(site["casts"] for site in self.sites(**facts))

    def hits(self, **facts):
        return sum(site["cache_hits"] for site in self.sites(**facts))

    def layers(self, operator=None):
        """Returns what deep steps saw of all operators, or of one, with dtypes."""
        return [row for row in self.report["layers"] if operator in (None, plain(row["operator"]))]

    def region_at(self, mark):
        found = [region for region in self.report["regions"]
                 if region["location"]["file"] == str(self.jobs) and region["location"]["line"] == self.line(mark)]
        assert len(found) == 1, f"{len(found)} regions at {mark}"
        return found[0]

    @property
    def steps(self):
        return self.report["totals"]["step_count"]
