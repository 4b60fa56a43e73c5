"""The driver behind scripts/bench: runs sections, keeps their figures, writes the tables."""

import argparse
import datetime
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import against
import armed
import measure
import table
import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIGURES = ROOT / "build" / "bench.json"  # of earlier calls, so that --only leaves the other rows as they were
PAGE = ROOT / "docs" / "performance.md"
SECTIONS = measure.SECTIONS | {"armed": armed.armed}


def machine():
    model, cores = "an unknown CPU", 0
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model, cores = line.split(":", 1)[1].strip(), cores + 1
    return (f"{cores} cores of {model}, Python {sys.version.split()[0]}, PyTorch {torch.__version__}, "
            f"{datetime.date.today()}")


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--only", metavar="A,B", help="sections to measure: " + ", ".join(SECTIONS) +
                        "; with --against " + ", ".join(against.SECTIONS))
    parser.add_argument("--rounds", type=int, help="how often each comparison is made (7; with --against 20)")
    parser.add_argument("--print", action="store_true", help="print the table and write nothing")
    parser.add_argument("--against", metavar="COMMIT",
                        help="what this tree costs more than that commit, which is built "
                        "for it; prints a table, and writes no document")
    given = parser.parse_args()
    sections = against.SECTIONS if given.against else tuple(SECTIONS)
    given.only = given.only.split(",") if given.only else list(sections)
    given.rounds = given.rounds or (20 if given.against else 7)
    for name in given.only:
        if name not in sections:
            parser.error(f"there is no section {name}; there are {', '.join(sections)}")
    return given


def main():
    given = arguments()
    if given.against:
        against.compare(given.against, given.only, given.rounds)
        return
    found = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    for name in given.only:
        found[name] = SECTIONS[name](given.rounds)
        print(f"{name}: {json.dumps(found[name])}", file=sys.stderr)
        if not given.print:
            FIGURES.parent.mkdir(exist_ok=True)
            FIGURES.write_text(json.dumps(found, indent=1))
    parts = table.render(found, machine(), "scripts/bench")
    if given.print:
        print("\n\n".join(parts.values()))
    else:
        PAGE.write_text(table.put_into(PAGE.read_text(), parts))


if __name__ == "__main__":
    main()
