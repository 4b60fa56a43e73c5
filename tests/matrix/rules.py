"""What castscope's rules find beside the PyTorch of the Python that runs this: in the examples of docs/rules.md, and in
the marked cases of tests/cases/rules.

    python tests/matrix/rules.py FOLDER

It needs what the acceptance run needs. It prints one JSON object: what was found as in the PyTorch of the tests, and
what was not, or is new.
"""

import collections
import json
import pathlib
import platform
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "cases")]
import examples  # noqa: E402
import marked_cases  # noqa: E402
import runs  # noqa: E402

CASES = sorted(path for path in (HERE.parent / "cases" / "rules").glob("*.py") if path.stem != "apart")
ALONE = "modes_compile"  # it sets variables of the environment


def of_examples(folder):
    """Returns (found, complaints): a complaint for each example whose finding does not come, or whose fix leaves it."""
    outcome, found, complaints = examples.Findings(folder), [], {}
    for rule, said in examples.rules().items():
        status, error = outcome.end_of("example", rule)
        if rule in examples.CANNOT:
            if rule in outcome.rules_in("example", rule):
                complaints[rule] = "is found here"
        elif rule in outcome.rules_in("example", rule):
            found.append(rule)
        else:
            complaints[rule] = f"is not found; the example ends with {status}: {error}"
        if said["fixed_example"] is None or rule in complaints:
            continue
        status, error = outcome.end_of("fixed_example", rule)
        left = sorted(outcome.rules_in("fixed_example", rule))
        if status != "0" and rule not in examples.STOPS:
            complaints[rule] = f"the fixed example ends with {status}: {error}"
        elif not set(left) <= outcome.rules_in("example", rule) - {rule}:
            complaints[rule] = f"in the fixed example is found: {', '.join(left)}"
    return found, complaints


def found_alone(path, case, rule, folder):
    report = runs.under_castscope([sys.executable, str(path), case], folder).report
    return int(rule in {finding["rule"] for finding in report["findings"]})


def of_marked_cases(folder):
    """Returns (found, missing, new) of findings, as "FILE:CASE RULE"."""
    marked, reported = collections.Counter(), collections.Counter()
    for name, files in (("shared", [path for path in CASES if path.stem != ALONE]),
                        ("alone", [path for path in CASES if path.stem == ALONE])):
        outcome = runs.under_castscope([sys.executable, str(runs.WORKLOADS / "forks.py"), *map(str, files)],
                                       folder / name)
        if outcome.report is None:
            sys.exit(outcome.stderr.decode(errors="replace"))
        print(outcome.stderr.decode(errors="replace"), file=sys.stderr)
        for path in files:
            here = [finding for finding in outcome.report["findings"] if finding["location"]["file"] == str(path)]
            marked.update(f"{path.stem}:{case} {rule}" for case, _, rule in marked_cases.marked(path))
            reported.update(f"{path.stem}:{case} {rule}"
                            for case, _, rule in marked_cases.reported({"findings": here}, path))
            for case, _, rule in marked_cases.marked(path):  # on a busy machine casts take a smaller share of the time
                key = f"{path.stem}:{case} {rule}"
                if rule in examples.WEIGH_TIMES and reported[key] < marked[key]:
                    reported[key] += found_alone(path, case, rule, folder / case)
    return sum((marked & reported).values()), sorted((marked - reported).elements()), sorted(
        (reported - marked).elements())


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "examples").mkdir(parents=True)
    found, complaints = of_examples(folder / "examples")
    (folder / "cases").mkdir()
    as_marked, missing, new = of_marked_cases(folder / "cases")
    said = {"torch": torch.__version__, "python": platform.python_version()}
    print(json.dumps(said | {"examples_found": len(found), "examples": complaints, "cases_found": as_marked,
                             "cases_missing": missing, "cases_new": new}))


if __name__ == "__main__":
    main()
