"""Measures how well castscope.modes finds an operator of eager in script, trace, compile and export.

    mode_alignment.py [--write FILE] [--backend BACKEND] [--failures] [CASE…]

Records each case of mode_modules.py, and of mode_programs.py, in each mode and holds the alignment against
mode_truth.py. Exits with 1 where precision or recall of a mode falls below the goal, or a case behaves otherwise than
it says.
"""

import argparse
import collections
import contextlib
import dataclasses
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "agent" / "python"))

import torch  # noqa: E402
from castscope.modes.alignment import align  # noqa: E402
from castscope.modes.differences import judge  # noqa: E402
from castscope.modes.recording import Options, record  # noqa: E402
from mode_document import WAYS, WHY, document, failing  # noqa: E402
from mode_modules import cases  # noqa: E402
from mode_programs import programs  # noqa: E402
from mode_truth import SIMPLER, Score, both, by_occurrence, held, same_dtypes, truth  # noqa: E402

GOAL = 0.99
ENOUGH = 300
PROGRAMS = 40


class InRegion(torch.nn.Module):
    """With the region inside, where an exported program keeps it."""

    def __init__(self, what):
        super().__init__()
        self.what = what

    def forward(self, *arguments):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.what(*arguments)


@dataclasses.dataclass
class Measured:
    """One case in one way."""
    name: str
    way: str
    eager: list
    units: list
    truth: object
    pairs: list
    score: Score
    simpler: dict
    differing: set
    reported: set

    @property
    def failures(self):
        """Wrong pairs, and true ones that are missing."""
        found = [(i, j, "wrong") for i, j in self.pairs if self.truth.judges((i, j)) and (i, j) not in self.truth]
        missing = {js[0]: i for i, js in self.truth.left.items() if len(js) == 1}
        for i, j in self.pairs:
            if (i, j) in self.truth:
                missing.pop(j, None)
        return found + [(i, j, "missed") for j, i in missing.items()]


@contextlib.contextmanager
def one_graph_for_each_size():
    """A graph that serves several sizes is listed with those that it was compiled for: no truth is in these."""
    with torch._dynamo.config.patch(automatic_dynamic_shapes=False, recompile_limit=100):
        yield


def recorded(case, way, backend="aot_eager"):
    """Eager and the way beside it; the error, where the mode refuses the case."""
    inside = way == "export"
    region = contextlib.nullcontext() if inside else torch.autocast("cpu", dtype=torch.bfloat16)
    function = InRegion(case.function()) if inside else case.function()
    with torch.no_grad(), region, one_graph_for_each_size():
        eager = record("eager", function, case.arguments())
        assert eager.error is None, (case.name, eager.error)
        other = record(way.split()[-1], function, case.arguments(), Options(backend=backend))
    return eager.units, other.units, other.error


def without_shapes(units):
    """Returns what the alignment gets: no shapes, since the truth is made from them."""
    return [dataclasses.replace(unit, shapes=()) for unit in units]


def measured(case, way, eager, units):
    blank = without_shapes(eager), without_shapes(units)
    known = truth(eager, units, case.alike)
    pairs = both(align(*blank))
    ambient = {} if way == "export" else {"cpu": "bfloat16"}
    reported = {(i, j) for i, j, cell in judge(way.split()[-1], *blank, ambient) if cell.differs}
    return Measured(
        case.name, way, eager, units, known, pairs, held(pairs, known),
        {name: held(by_occurrence(eager, units, key), known) for name, key in SIMPLER.items()},
        {(i, js[0]) for i, js in known.left.items() if len(js) == 1 and not same_dtypes(eager[i], units[js[0]])},
        {pair for pair in reported if known.judges(pair)})


def measure(wanted, backend, tell):
    """Measures everything; returns complaints about cases that behave otherwise than they say."""
    found, complaints = [], []
    total = len(wanted) * len(WAYS)
    for number, (case, way) in enumerate((case, way) for case in wanted for way in WAYS):
        tell(f"{number + 1} of {total}: {case.name}, {way}")
        eager, units, error = recorded(case, way, backend)
        refused = not case.runs_in(way)
        if (error is not None) != refused:
            complaints.append(f"{case.name}: {way} " + (
                f"refuses it: {error.summary} ({error.line})" if error else "has it, although it says otherwise"))
        if error is None:
            found.append(measured(case, way, eager, units))
    return found, complaints


def sums(found, way):
    """A row of the table."""
    here = [one for one in found if one.way == way]
    score, simpler = Score(), collections.defaultdict(Score)
    for one in here:
        score += one.score
        for name, theirs in one.simpler.items():
            simpler[name] += theirs
    return {
        "modules": len(here),
        "eager": sum(len(one.eager) for one in here), "units": sum(len(one.units) for one in here),
        "pairs": sum(one.truth.pairs for one in here), "alone": sum(one.truth.alone for one in here),
        "unlabelled": sum(len(one.truth.unlabelled) for one in here), "score": score, "simpler": simpler,
        "differing": sum(len(one.differing) for one in here),
        "reported": sum(len(one.differing & one.reported) for one in here),
        "false": sum(len(one.reported - one.differing) for one in here)}


def table(found):
    print(f"{'':15}modules eager mode  pairs alone unlabelled | right wrong missed precision recall | "
          "differ reported false")
    for way in WAYS:
        row = sums(found, way)
        score = row["score"]
        print(f"{way:15}{row['modules']:7} {row['eager']:5} {row['units']:4} {row['pairs']:6} {row['alone']:5} "
              f"{row['unlabelled']:10} | {score.right:5} {score.wrong:5} {score.missed:6} {score.precision:9.4f} "
              f"{score.recall:6.4f} | {row['differing']:6} {row['reported']:8} {row['false']:5}")
    for name in SIMPLER:
        print(f"{name}:", *(f"{way} {sums(found, way)['simpler'][name].precision:.3f} "
                            f"{sums(found, way)['simpler'][name].recall:.3f}" for way in WAYS), sep="  ")


def place(unit):
    return ":".join([pathlib.Path(unit.line.file).stem, str(unit.line.line)]) if unit.line else "no line"


def print_failures(found):
    for one in found:
        for i, j, how in one.failures:
            left, right = one.eager[i], one.units[j]
            print(f"{one.way} {one.name}: {how} {left.operator} #{i} {list(left.shapes)} {place(left)} {left.module} — "
                  f"{right.operator} #{j} {list(right.shapes)} {place(right)} {right.module}")


def short_of_the_goal(found):
    for way in WAYS:
        row = sums(found, way)
        if min(row["score"].precision, row["score"].recall) < GOAL or row["pairs"] < ENOUGH:
            yield (f"{way}: precision {row['score'].precision:.4f} and recall {row['score'].recall:.4f} of "
                   f"{row['pairs']} pairs; wanted are {GOAL} of at least {ENOUGH}")


def progress():
    begin = time.monotonic()

    def tell(what):
        end = "\r" if sys.stderr.isatty() else "\n"
        print(f"{time.monotonic() - begin:5.0f} s  {what:60}", end=end, file=sys.stderr, flush=True)
    return tell


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="CASE")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--backend", default="aot_eager", help="torch.compile's: what it makes of a graph has no part")
    parser.add_argument("--failures", action="store_true", help="name each pair that is wrong or missing")
    options = parser.parse_args()
    wanted = [case for case in cases() if not options.names or case.name in options.names]
    tell = progress()
    found, complaints = measure(wanted, options.backend, tell)
    table(found)
    by_chance = []
    if not options.names:
        with tempfile.TemporaryDirectory() as folder:
            by_chance, more = measure(list(programs(PROGRAMS, folder)), options.backend, tell)
        print("Programs by chance:")
        table(by_chance)
        complaints += more + list(short_of_the_goal(found)) + list(short_of_the_goal(by_chance))
    if options.failures:
        print_failures(found + by_chance)
    if options.write:
        options.write.write_text(document(wanted, found, by_chance, sums))
        complaints += [f"{name}: fails, and mode_document.py does not say why" for name in failing(found)
                       if name not in WHY]
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
