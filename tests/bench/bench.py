"""The driver behind scripts/bench: runs sections, keeps their figures, writes the tables."""

import argparse
import datetime
import json
import pathlib
import sys

import measure
import table
import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIGURES = ROOT / "build" / "bench.json"  # of earlier calls, so that --only leaves the other rows as they were
PAGE = ROOT / "docs" / "performance.md"


def machine():
    model, cores = "an unknown CPU", 0
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model, cores = line.split(":", 1)[1].strip(), cores + 1
    return (f"{cores} cores of {model}, Python {sys.version.split()[0]}, PyTorch {torch.__version__}, "
            f"{datetime.date.today()}")


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--only", default=",".join(measure.SECTIONS), metavar="A,B",
                        help="sections to measure: " + ", ".join(measure.SECTIONS))
    parser.add_argument("--rounds", type=int, default=7, help="how often each comparison is made")
    parser.add_argument("--print", action="store_true", help="print the table and write nothing")
    given = parser.parse_args()
    given.only = given.only.split(",")
    for name in given.only:
        if name not in measure.SECTIONS:
            parser.error(f"there is no section {name}; there are {', '.join(measure.SECTIONS)}")
    return given


def main():
    given = arguments()
    found = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    for name in given.only:
        found[name] = measure.SECTIONS[name](given.rounds)
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
