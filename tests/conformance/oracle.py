"""Builds the oracle and reads what it counted."""

import collections
import dataclasses
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import native  # noqa: E402

DTYPES = 64  # kDtypes and kTrace of oracle/tally.h
TRACE = 64 << 10
HEADER = struct.Struct("8s Q 6Q Q Q")


@dataclasses.dataclass
class Counts:
    """The counts of one process, or the sum of several."""

    casts: int = 0
    cache_hits: int = 0
    pass_throughs: int = 0
    traced: int = 0
    bytes: int = 0
    clears: int = 0
    processes: int = 0
    outcomes: str = ""
    # (from, to) as numbers of c10::ScalarType -> [casts, hits, bytes]
    pairs: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(lambda: [0, 0, 0]))

    each: list = dataclasses.field(default_factory=list)  # of a sum: its parts

    def calls(self):
        return self.casts + self.cache_hits + self.pass_throughs + self.traced

    def add(self, other):
        self.each.append(other)
        for name in ("casts", "cache_hits", "pass_throughs", "traced", "bytes", "clears", "processes", "outcomes"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for pair, values in other.pairs.items():
            self.pairs[pair] = [a + b for a, b in zip(self.pairs[pair], values)]


def library():
    folder = HERE / "oracle"
    return native.library(folder / "oracle.cc", "-ldl", "-Wl,-z,lazy", depends=[folder / "tally.h"])


def environment(folder):
    return {"LD_PRELOAD": str(library()), "CAST_ORACLE_DIR": str(folder)}


def read(path):
    data = pathlib.Path(path).read_bytes()
    magic, _pid, casts, hits, passes, traced, size, clears, _functional, length = HEADER.unpack_from(data)
    if magic != b"ORACLE01":
        raise ValueError(f"{path} is not a tally of the oracle")
    outcomes = data[HEADER.size:HEADER.size + min(length, TRACE)].decode()
    counts = Counts(casts, hits, passes, traced, size, clears, 1, outcomes)
    numbers = struct.iter_unpack("3Q", data[HEADER.size + TRACE:HEADER.size + TRACE + DTYPES * DTYPES * 24])
    for index, values in enumerate(numbers):
        if any(values):
            counts.pairs[divmod(index, DTYPES)] = list(values)
    return counts


def read_all(folder):
    total = Counts()
    for path in sorted(pathlib.Path(folder).glob("*.tally")):
        total.add(read(path))
    return total


if __name__ == "__main__":  # prints the sum of a folder of tallies
    summed = read_all(sys.argv[1])
    print({k: v for k, v in vars(summed).items() if k not in ("outcomes", "pairs", "each")}, dict(summed.pairs))
