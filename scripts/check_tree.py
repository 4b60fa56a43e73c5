#!/usr/bin/env python3
"""Holds what docs/architecture.md says of the tree: who may include whom, that includes make no circle, that every test
runs, that files and folders stay small.

Each complaint names the file, the folder or the circle, and what to do.
"""

import collections
import graphlib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The rooms of what runs in the training process, from the ground up: each may include those before it.
AGENT = ["floor", "machine", "hash", "memory", "lanes", "interposed", "preload", "wiring", "imports", "cpython",
         "torch", "torchscript", "naming", "session", "regions", "casts", "script", "enforce/decided",
         "enforce/freshness", "enforce", "matmuls", "gpu/cupti", "gpu", "compile", "operators", "errors", "start"]
IN_JOB = tuple(f"agent/{room}" for room in AGENT)

# Other parts may include the engine of the rules, its inquiries and its evidence, but no group of rules.
RULES = ["server/rules/castscope_json.h", "server/rules/judgement.h", "server/rules/list.h", "server/rules/rules.h",
         "server/rules/suggest.h", "server/rules/inquiry", "server/rules/evidence"]

# A group of rules knows what rules ask and how they are asked, and no other group.
RULE_GROUP = ["server/policy", "server/store/run", "server/rules/evidence", "server/rules/inquiry"]

# What the words of a segment, of the wire and of a run file mean.
EVENTS = ["agent/lanes/closed_lists.h", "agent/lanes/event_views.h", "agent/lanes/format.h", "agent/lanes/gauges.h"]

# folder → headers that it may include besides its own and the system's: single ones, or all of a folder and the folders
# in it. A folder within another one has a row of its own.
MAY_INCLUDE = {
    **{room: list(IN_JOB[:floor]) for floor, room in enumerate(IN_JOB)},
    "proto": [*EVENTS],
    "server/redaction": ["agent/lanes", "proto", "server/utf8"],
    "server/relay/sending": ["proto", "server/utf8"],
    "server/relay": ["agent/lanes", "proto", "server/redaction", "server/utf8", "server/relay/sending"],
    "server/store/run": [*EVENTS, "server/utf8"],
    "server/store/file": ["agent/lanes/gauges.h", "proto", "server/store/run"],
    "server/store/trackers": ["agent/hash", *EVENTS, "server/store/run"],
    "server/store/read": ["server/log", "server/utf8", "agent/lanes/gauges.h", "agent/hash", "server/store/run",
                          "server/store/file"],
    "server/store/write": [*EVENTS, "proto/event_block.h", "server/store/run", "server/store/file",
                           "server/store/trackers", "server/store/read"],
    "server/store/testing": [*EVENTS, "proto", "server/store"],
    "server/admission": ["server/config"],
    "server/ingest/listening": ["proto", "server/admission"],
    "server/ingest/validation": [*EVENTS, "proto", "server/utf8", "server/store/run/names.h",
                                 "server/store/run/run_sink.h"],
    "server/ingest/run": ["proto", "server/utf8", "server/store/run/run_sink.h", "server/admission/digest.h",
                          "server/ingest/validation"],
    "server/ingest": ["proto", "server/utf8", "server/admission", "server/ingest/listening", "server/ingest/run"],
    "server/ingest/testing": [*EVENTS, "proto", "server/store/run"],
    "server/log": ["server/utf8"],
    "server/files": [],
    "server/utf8": [],
    "server/config": ["server/files", "server/utf8"],
    "server/policy": ["agent/enforce/decided", "server/config", "server/files"],
    "server/rules/evidence/counts": ["server/store/run"],
    "server/rules/evidence/places": ["server/store/run"],
    "server/rules/evidence/operators": ["server/policy", "server/store/run", "server/rules/evidence/counts",
                                        "server/rules/evidence/places"],
    "server/rules/evidence": ["server/policy", "server/store/run", "server/rules/evidence"],
    "server/rules/inquiry": ["server/policy", "server/store/run", "server/rules/evidence"],
    "server/rules/autograd": RULE_GROUP,
    "server/rules/cache": RULE_GROUP,
    "server/rules/coverage": RULE_GROUP,
    "server/rules/distributed": RULE_GROUP,
    "server/rules/errors": RULE_GROUP,
    "server/rules/gpu": RULE_GROUP,
    "server/rules/modes/compile": RULE_GROUP,
    "server/rules/modes/export": RULE_GROUP,
    "server/rules/modes/script": RULE_GROUP,
    "server/rules/phases": RULE_GROUP,
    "server/rules/policy": RULE_GROUP,
    "server/rules/precision": RULE_GROUP,
    "server/rules/scaler": RULE_GROUP,
    "server/rules": ["server/config", "server/files", "server/policy", "server/store/run", "server/rules/evidence",
                     "server/rules/inquiry"],
    "server/rules/testing": ["server/policy", "server/store", "server/rules"],
    "server/judging": ["server/log", "server/redaction", "server/store", *RULES, "server/utf8"],
    "server/graph": ["server/store/run", "server/rules/evidence"],
    "server/report/text": [*EVENTS, "server/utf8", "server/store/run", "server/rules/evidence/finding.h",
                           "server/rules/evidence/places"],
    "server/report/findings": ["agent/hash", "server/store/run", *RULES, "server/utf8", "server/report/text"],
    "server/report/model": ["server/store/run", *RULES, "server/judging", "server/report/text",
                            "server/report/findings"],
    "server/report/modes": ["server/store/run", "server/rules/evidence", "server/report/model/json_values.h"],
    "server/report/drawings": ["server/utf8", "server/store/run", "server/graph", "server/report/text"],
    "server/report/timelines": [*EVENTS, "proto", "server/utf8", "server/store/run", "server/store/read",
                                "server/report/text", "server/report/model"],
    "server/report/html": ["server/store/run", *RULES, "server/graph", "server/report/text",
                           "server/report/model", "server/report/modes", "server/report/drawings"],
    "server/report/forms": ["server/utf8", "server/store/run", "server/store/read", *RULES, "server/judging",
                            "server/report/findings", "server/report/text", "server/report/model",
                            "server/report/modes", "server/report/drawings", "server/report/timelines",
                            "server/report/html"],
    "server/report/compare": ["server/files", "server/store/run", *RULES, "server/judging", "server/report/text",
                              "server/report/findings", "server/report/model", "server/report/forms/json.h"],
    "server/report/policy": ["server/config", "server/policy", "server/store/run", "server/rules/evidence",
                             "server/report/text"],
    "server/report/testing": ["server/store"],
    "server/exported/program": ["server/store/run"],
    "server/exported": ["server/policy", "server/store/run", *RULES, "server/judging", "server/report/text",
                        "server/report/findings", "server/report/compare", "server/exported/program"],
    "server/exported/testing": ["server/store/run", "server/exported"],
    "server/timeline/series": [],
    "server/timeline/tracks": [*EVENTS, "server/store/run", "server/timeline/series"],
    "server/timeline/questions": ["server/store/run", "server/timeline/series", "server/timeline/tracks"],
    "server/timeline": [*EVENTS, "server/store/run", "server/store/read", "server/report/model",
                        "server/report/timelines", "server/timeline/tracks", "server/timeline/questions"],
    "server/timeline/testing": [*EVENTS, "server/timeline"],
    "server/web/http": ["server/admission"],
    "server/web/runs": ["server/store", *RULES, "server/judging", "server/report", "server/timeline"],
    "server/web/search": [*EVENTS, "server/store/run", *RULES, "server/report", "server/timeline", "server/web/runs"],
    "server/web/api": [*EVENTS, "server/judging", "server/store/run", "server/store/read", "server/report",
                       "server/timeline", "server/web/http", "server/web/runs", "server/web/search"],
    "server/web": ["server/admission", "server/web/http", "server/web/runs", "server/web/api"],
    "server/cli/command_line": ["server/config", "server/report/text"],
    "server/cli/toolkit": ["agent/machine", "agent/hash", "agent/interposed/seal.h", "server/files"],
    "server/cli/loading": ["agent/machine", "server/cli/toolkit"],
    "server/cli/agents": ["server/files", "server/cli/toolkit"],
    "server/cli/job": ["server/files", "server/utf8", "agent/hash", "agent/interposed/launchers.h",
                       "agent/preload/unfiled.h", "server/policy",
                       "server/relay/process.h", "server/cli/toolkit", "server/cli/loading",
                       "server/cli/agents"],
    "server/cli/attaching": ["agent/lanes/control.h", "server/cli/toolkit", "server/cli/job"],
    "server/cli/doctor": ["server/config/amounts.h", "server/files", "server/relay", "server/report/text",
                          "server/cli/toolkit", "server/cli/job", "server/cli/attaching/running.h",
                          "server/cli/recording", "server/cli/leftovers"],
    "server/cli/recording": ["agent/hash", "server/files", "server/config/amounts.h", "server/config/settings_file.h",
                             "server/redaction", "server/relay", "server/ingest", "server/policy", "server/store",
                             *RULES, "server/judging", "server/utf8",
                             "server/report", "server/web/runs", "server/cli/version.h", "server/cli/toolkit",
                             "server/cli/job", "server/cli/attaching/control_socket.h"],
    "server/cli/serving": ["agent/hash", "server/admission", "server/config", "server/files", "server/ingest",
                           "server/judging", "server/log", "server/store", "server/rules/castscope_json.h",
                           "server/utf8", "server/web", "server/cli/version.h", "server/cli/recording"],
    "server/cli/leftovers": ["server/relay", "server/store/read", "server/report/text", "server/cli/job",
                             "server/cli/recording"],
    "server/cli/commands": ["server"],
    "tests": ["agent", "proto", "server"],
}
# What must not enter the training process, by the include's first words.
NOT_IN_JOB = ("absl/", "grpc", "google/", "spdlog/", "fmt/", "nlohmann/", "sqlite3", "zstd", "Python.h")
MOST_LINES = 400
MOST_FILES = 45  # in one folder

# Tests may include more: whatever lies in a folder named testing, what their own part of the server has
# (server/report), and the store, which makes the runs that they look at.
TEST = re.compile(r"_(test|bench)\.(cc|h)$|/testing/")


def tracked(*patterns):
    """Files that git tracks, or would by `git add`."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in names.splitlines() if (ROOT / name).is_file()]


def lies_in(name, folders):
    return any(name == folder or name.startswith(folder + "/") for folder in folders)


def home_of(name):
    """The longest folder of MAY_INCLUDE that holds this file."""
    return max((folder for folder in MAY_INCLUDE if name.startswith(folder + "/")), key=len, default=None)


def includes(name):
    """The line of each include, and what it names, from the root where that is a file of ours."""
    for number, line in enumerate((ROOT / name).read_text(errors="replace").splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
        if found:
            beside = os.path.normpath(os.path.join(os.path.dirname(name), found.group(2)))
            yield number, beside if found.group(1) == '"' and (ROOT / beside).is_file() else found.group(2)


def may_include(name, header):
    home = home_of(name)
    if home_of(header) == home or lies_in(header, MAY_INCLUDE[home]):
        return True
    part = "/".join(name.split("/")[:2])
    in_server = part.startswith("server/") and TEST.search(name)
    return in_server and ("/testing/" in header or lies_in(header, [part, "server/store"]))


def check_includes():
    for name in tracked("*.h", "*.c", "*.cc"):
        home = home_of(name)
        if home is None:
            yield f"{name}: lies in no folder that scripts/check_tree.py knows: add its row to MAY_INCLUDE"
            continue
        for number, header in includes(name):
            ours = header.startswith(("agent/", "server/", "proto/", "tests/"))
            if ours and not may_include(name, header):
                yield f"{name}:{number}: {home} may not include {header} (docs/architecture.md)"
            test = name.endswith("_test.cc")
            if ours and "/testing/" in header and not TEST.search(name) and not name.startswith("tests/"):
                yield f"{name}:{number}: {header} is for tests alone"
            if home in IN_JOB and not test and header.startswith(NOT_IN_JOB):
                yield f"{name}:{number}: {header} must not enter the training process"


def includes_among(of):
    """Who includes whom: of(file) is a node, an edge has the include that makes it. Tests are left out."""
    files = [name for name in tracked("agent/*", "server/*", "proto/*") if re.search(r"\.(c|cc|h)$", name)]
    there = {name for name in files if not TEST.search(name)}
    edges = collections.defaultdict(dict)
    for name in sorted(there):
        for number, header in includes(name):
            if header in there and of(name) != of(header):
                edges[of(name)].setdefault(of(header), f"{name}:{number}")
    return edges


def circles(edges):
    """One after the other, each as the nodes along it, the first again at its end."""
    while True:
        try:
            graphlib.TopologicalSorter(edges).prepare()
            return
        except graphlib.CycleError as found:
            circle = found.args[1][::-1]  # graphlib tells it from those that are included to those that include
            yield circle
            del edges[circle[0]][circle[1]]  # else it would be found again


def check_circles():
    kinds = (("folders", os.path.dirname, "move what both sides need into a folder below them"),
             ("units", lambda name: os.path.splitext(name)[0], "put what both sides need into a file of its own"))
    for what, of, advice in kinds:
        edges = includes_among(of)
        for circle in circles({node: dict(targets) for node, targets in edges.items()}):
            where = ", ".join(edges[a][b] for a, b in zip(circle, circle[1:]))
            yield f"these {what} include each other: {' → '.join(circle)} ({where}): {advice}"


def check_crowds():
    counts = collections.Counter(os.path.dirname(name) for name in tracked("agent", "server", "proto", "ui", "scripts"))
    for folder, files in sorted(counts.items()):
        if files > MOST_FILES:
            yield f"{folder}: {files} files; divide it into folders with names (at most {MOST_FILES})"


def check_folders():
    for name in tracked():
        for part in pathlib.PurePath(name).parts[:-1]:
            if part in ("common", "utils", "util", "misc"):
                yield f"{name}: a folder named {part} says nothing: put the file where it is used"


def lists(cmake, path):
    """By its name, or by a pattern that is looked at anew at each build."""
    cmake = re.sub(r"#.*", "", cmake)
    globs = re.findall(r"file\(GLOB \w+ RELATIVE \S+ CONFIGURE_DEPENDS ([^)]+)\)", cmake)
    by_name = re.search(r"(?:^|[\s(/])" + re.escape(str(path)) + r"(?=[\s)])", cmake)
    return by_name or any(path.match(pattern) and "_test" in pattern for pattern in " ".join(globs).split())


def check_tests_are_listed():
    builds = {path.parent: path.read_text() for path in ROOT.glob("**/CMakeLists.txt") if "build" not in path.parts}
    for name in tracked("*_test.cc"):
        path = ROOT / name
        listed = any(folder in path.parents and lists(text, path.relative_to(folder))
                     for folder, text in builds.items())
        if not listed:
            yield f"{name}: no CMakeLists.txt lists this test, so nobody runs it"
    for name in tracked("tests/*.py", "agent/python/*.py"):
        path = pathlib.PurePath(name)
        holds_tests = re.search(r"^\s*def test_", (ROOT / name).read_text(), re.MULTILINE)
        if holds_tests and not path.name.startswith("test_"):
            yield f"{name}: has tests but pytest does not collect it: name it test_….py"


def check_sizes():
    for name in tracked("*.h", "*.c", "*.cc", "*.py", "*.ts", "*.css", "scripts/*"):
        lines = len((ROOT / name).read_text(errors="replace").splitlines())
        if lines > MOST_LINES:
            yield f"{name}: {lines} lines; part it (at most {MOST_LINES})"


def main():
    complaints = [*check_includes(), *check_circles(), *check_crowds(), *check_folders(), *check_tests_are_listed(),
                  *check_sizes()]
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
