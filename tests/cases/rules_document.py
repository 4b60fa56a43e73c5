#!/usr/bin/env python3
"""Writes docs/rules.md: what each rule says, and how it did over the cases of the catalogue and over clean jobs.

    python tests/cases/rules_document.py              all of it
    python tests/cases/rules_document.py --evidence   its section "Evidence" alone

Runs all of tests/cases/rules and clean_list.py under castscope, which takes some minutes. The evidence is read from
tests/golden/evidence, which rules_test and exported_test write.
"""

import collections
import json
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import clean_list  # noqa: E402
import examples  # noqa: E402
import runs  # noqa: E402
from marked_cases import CASE, functions, marked, reported  # noqa: E402

DOCUMENT = runs.ROOT / "docs" / "rules.md"
NAMES = runs.ROOT / "docs" / "names.json"
# The unit tests of rules and of exported programs list here which evidence each rule's findings gave.
EVIDENCE = runs.ROOT / "tests" / "golden" / "evidence"
RULES = runs.ROOT / "server" / "rules"
SEVERITIES = ["error", "warning", "performance", "info"]
TITLES = {"gpu": "GPUs", "phases": "Training and evaluation"}  # where the name of the folder is none
ABOUT = """\
# Rules

<!-- Written by tests/cases/rules_document.py: run that instead of editing. -->

These are the rules by which castscope judges a run. `castscope rules` prints the list. `castscope rules RULE` explains one: what happens, why it matters, an example that runs, the fix, the example with that fix made, its thresholds. [ci.md](ci.md#settings-castscopejson) has the settings. A rule is a pure function of what was seen, so it gives the same findings while the job runs and when it reads the finished run file. [Coverage](reports.md#coverage) says how far the rules could judge a run.

A finding has one of four severities. `error`: the result is wrong. `warning`: it is likely wrong. `performance`: time or memory is lost. `info`: worth knowing. Findings marked `deep_only` come from [deep steps](decisions/deep-steps.md), and so do their counts.

Each rule is tested with real code. Each function in `tests/cases/rules/*.py` is a case: some have a fault that a rule must find, others look like these and are right (controls). *Places* are the lines that the rule must point at. *Found* are those that it did point at, exactly once. *False* counts findings anywhere else. Each rule also has unit tests of its own, which judge evidence that is written down in the test; *streams* counts these tests, those with and those without a fault together. They have the cases that need a GPU, and those that no longer happen with the PyTorch of today. Rules about GPUs are also tested with `tests/gpu/rule_jobs.py`, on the CUDA build of PyTorch and [the double of a GPU](../tests/gpu/double/README.md) (`scripts/check-cuda-build`). There each rule finds the fault of its job at the marked line, and finds nothing once the fix is made.

*Fix tried* says whether a test makes the fix. That test (`tests/cases/test_examples.py`) runs the example of the rule, and the same example changed as the words of the finding's fix say. In the latter the finding has to be gone, with no new one, and the program has to run to its end. Its results have to be as close to those in float32 as before, or the words of the fix say that they are not: "yes, it trades precision". [decisions/fixed-examples.md](decisions/fixed-examples.md) tells how that is measured.
"""


def rule_list():
    return list(examples.rules().values())


def source_of(rule):
    """Returns server/rules/GROUP/NAME.cc; a large group has folders in it."""
    return next(RULES.glob(f"*/**/{rule.replace('-', '_')}.cc"))


def group_of(rule):
    return source_of(rule).relative_to(RULES).parts[0]


def streams(rule):
    """Returns the tests of the rule's own file or, for rules that share a file, of the file that names them."""
    source = source_of(rule)
    test = source.with_name(f"{source.stem}_test.cc")
    tests = [test] if test.exists() else [path for path in source.parent.glob("*_test.cc") if rule in path.read_text()]
    return sum(len(re.findall(r"^TEST_F\(", path.read_text(), re.MULTILINE)) for path in tests)


class Count:
    """Counts for a rule: the places that it must point at, those among them that it found, and other findings."""

    def __init__(self):
        self.places = self.found = self.false = 0

    def add(self, other):
        self.places, self.found, self.false = (self.places + other.places, self.found + other.found,
                                               self.false + other.false)


def over_cases(folder):
    counts, cases, controls = collections.defaultdict(Count), 0, 0
    for path in sorted((HERE / "rules").glob("*.py")):
        if path.stem == "apart":
            continue
        outcome = runs.under_castscope([sys.executable, str(path)], folder / path.stem)
        assert outcome.status == 0, outcome.stderr.decode()
        must, said = set(marked(path)), collections.Counter(reported(outcome.report, path))
        names = {name for name in functions(path).values() if CASE.match(name)}
        cases += len(names)
        controls += len(names - {name for name, _, _ in must})
        for mark in must:
            counts[mark[2]].places += 1
            counts[mark[2]].found += said[mark] == 1
        for mark, times in said.items():
            counts[mark[2]].false += times - (mark in must)
    return counts, cases, controls


def table(rules, counts):
    yield "| rule | severity | finds | places | found | false | streams | fix tried |"
    yield "|---|---|---|---|---|---|---|---|"
    for rule in rules:
        count = counts[rule["rule"]]
        yield (f"| `{rule['rule']}` | {rule['severity']} | {rule['summary']} | {count.places} | {count.found} | "
               f"{count.false} | {streams(rule['rule'])} | {examples.fix_is_tried(rule['rule'])} |")


def evidence_of_rules():
    """Returns the keys that each rule's findings may have."""
    keys = collections.defaultdict(set)
    for path in sorted(EVIDENCE.glob("*.json")):
        for rule, given in json.loads(path.read_text()).items():
            keys[rule].update(given)
    return keys


def unit_in_evidence(unit):
    """Elsewhere some texts are numbers or lists."""
    return "text" if unit.endswith(", in evidence as text") else unit.removesuffix(", or list of texts")


def evidence_section():
    units = {entry["name"]: unit_in_evidence(entry["unit"]) for entry in json.loads(NAMES.read_text())}
    yield from ["## Evidence", "",
                "This table says what the `evidence` of each rule's findings may have, in the JSON report, SARIF, the "
                "run file and the API. Behind each name is its unit: a text is free, and a word is one of a closed "
                "list. A finding has only what was seen, so some of these may be absent. [names.json](names.json) says "
                "what each name means and which words a closed list has.", "",
                "| rule | evidence |", "|---|---|"]
    for rule, keys in sorted(evidence_of_rules().items()):
        yield f"| `{rule}` | {', '.join(f'`{key}` ({units[key]})' for key in sorted(keys)) or '–'} |"


def share(part, whole):
    return "–" if whole == 0 else f"{100 * part / whole:.1f} %"


def clean_rows(folder):
    told_of = clean_list.found_in_sharing(folder / "clean")
    told_of |= {name: clean_list.found(name, folder / f"clean-{name}") for name in clean_list.JOBS}
    for name in [*clean_list.SHARING, *clean_list.JOBS]:
        if name not in told_of:
            yield name, None
            continue
        right = [f"`{rule}` ({clean_list.RIGHT[name][rule, text]})" for rule, text in sorted(told_of[name])
                 if (rule, text) in clean_list.RIGHT.get(name, {})]
        yield name, (right, sum(len(findings) for findings in clean_list.wrong(name, told_of[name]).values()))


def document(folder):
    rules = rule_list()
    counts, cases, controls = over_cases(folder)
    total = Count()
    for count in counts.values():
        total.add(count)
    lines = [ABOUT]
    for group in sorted({group_of(rule["rule"]) for rule in rules}):
        of_group = sorted((rule for rule in rules if group_of(rule["rule"]) == group),
                          key=lambda rule: (SEVERITIES.index(rule["severity"]), rule["rule"]))
        lines += [f"## {TITLES.get(group, group.capitalize())}", *table(of_group, counts), ""]
    lines += [*evidence_section(), "", "## Precision and recall", "",
              f"The {len(rules)} rules were tested with {cases} functions of real code. {controls} of these functions "
              f"have no fault that a rule should find. The others have {total.places} places; the rules found "
              f"{total.found} of them (recall {share(total.found, total.places)}) and made {total.false} false "
              f"findings (precision {share(total.found, total.found + total.false)}).", "",
              "These jobs have no fault, except those in the last column. Each was looked at operator by operator "
              "(`--deep always`):", "",
              "| job | false findings | findings that are right |", "|---|---|---|"]
    for name, row in clean_rows(folder):
        lines.append(f"| {name} | {row[1] if row else 'not run on this CPU'} | {', '.join(row[0]) if row else ''} |")
    return "\n".join(lines) + "\n"


def with_new_evidence(text):
    section = "\n".join(evidence_section())
    return re.sub(r"^## Evidence\n.*?(?=\n\n## )", lambda _: section, text, flags=re.DOTALL | re.MULTILINE)


if __name__ == "__main__":
    if "--evidence" in sys.argv[1:]:
        DOCUMENT.write_text(with_new_evidence(DOCUMENT.read_text()))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            DOCUMENT.write_text(document(pathlib.Path(temporary)))
    print(f"{DOCUMENT} written")
