"""Finds the lines of a file of cases that a rule must point at, and those that it pointed at."""

import re

CASE = re.compile(r"[csx]\d\d")
CONTROL = re.compile(r"[csx]\d\d[a-z]?n_")


def functions(cases):
    """Returns the case that each line belongs to."""
    names, name = {}, ""
    for number, line in enumerate(cases.read_text().splitlines(), 1):
        if found := re.match(r"def (\w+)", line):
            name = found[1]
        names[number] = name
    return names


def reported(report, cases):
    """Returns (case, line, rule) for each finding."""
    case = functions(cases)
    for finding in report["findings"]:
        at = finding["location"]
        assert at["file"] == str(cases), finding
        yield case[at["line"]], at["line"], finding["rule"]


def marked(cases):
    """Returns (case, line, rule) for each mark `# finds: RULE, RULE`."""
    case = functions(cases)
    for number, line in enumerate(cases.read_text().splitlines(), 1):
        if found := re.search(r"# finds: ([a-z0-9-]+(?:, [a-z0-9-]+)*)", line):
            for rule in found[1].split(", "):
                yield case[number], number, rule
