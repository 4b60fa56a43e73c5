"""Alignment of two sequences of operators: the truth is written by hand, or made with the sequences."""

import random
import time

from castscope.modes.alignment import align
from castscope.modes.units import Line, Unit


def unit(operator, *lines, module=""):
    return Unit(operator, operator, (), None, tuple(Line("net.py", line, "f") for line in lines), module)


def sequence(text):
    """`mm@3 relu@4/9`: operators, each with its lines from the innermost out."""
    found = []
    for word in text.split():
        operator, _, lines = word.partition("@")
        found.append(unit(operator, *map(int, filter(None, lines.split("/")))))
    return found


def pairs(left, right):
    return [(a, b) for a, b in align(sequence(left), sequence(right)) if a is not None and b is not None]


def test_equal_sequences():
    assert align(sequence("mm@1 add@2"), sequence("mm@1 add@2")) == [(0, 0), (1, 1)]


def test_what_has_no_partner_stands_where_it_ran():
    assert align(sequence("mm@1 add@2"), sequence("mm@1 exp@1 add@2")) == [(0, 0), (None, 1), (1, 2)]
    assert align(sequence("mm@1"), []) == [(0, None)]


def test_operators_must_match():
    assert pairs("relu@1", "gelu@1") == []


def test_a_merged_operator_pairs_by_its_line():
    """As TorchScript merges common expressions: of two relu, only the one at line 6 is left."""
    assert pairs("relu@5 relu@6 mm@7", "relu@6 mm@7") == [(1, 0), (2, 1)]


def test_a_shared_frame_is_better_than_none():
    """A helper that was exported has its caller's line."""
    assert pairs("relu@50/5 relu@50/6", "relu@6") == [(1, 0)]


def test_lines_that_moved_pair_by_their_order():
    assert pairs("mm@1 relu@2 mm@3", "mm@11 relu@12 mm@13") == [(0, 0), (1, 1), (2, 2)]


def test_a_line_counts_more_than_two_pairs_without():
    assert pairs("relu@1 exp@2 exp@3 relu@9", "relu@9 exp@12 exp@13") == [(3, 0)]


def test_of_equal_lines_the_callers_tell():
    assert pairs("mm@9/1 mm@9/2 mm@9/3", "mm@9/2 mm@9/3") == [(1, 0), (2, 1)]


def test_of_equal_lines_the_module_tells():
    left = [unit("mm", 9, module="a"), unit("mm", 9, module="b")]
    assert align(left, [unit("mm", 9, module="b")]) == [(0, None), (1, 0)]


def test_a_mode_without_modules_still_aligns():
    left = [unit("mm", line, module="a") for line in range(50)]
    assert align(left, [unit("mm", line) for line in range(50)]) == [(at, at) for at in range(50)]


def dropped(units, share, seed=0):
    """Units from which some were left out, and the pairs that remain."""
    choose = random.Random(seed)
    kept = [at for at in range(len(units)) if choose.random() >= share]
    return [units[at] for at in kept], [(at, number) for number, at in enumerate(kept)]


def test_finds_what_was_dropped_when_each_call_has_its_line():
    units = [unit("mm add relu exp".split()[at % 4], 7, 100 + at) for at in range(2000)]
    fewer, truth = dropped(units, 0.2)
    assert [pair for pair in align(units, fewer) if None not in pair] == truth


def test_five_thousand_units_take_seconds():
    """A long loop over the same lines: no operator occurs just once."""
    choose = random.Random(3)
    units = [unit(choose.choice("mm add relu exp".split()), choose.randrange(40), 7) for _ in range(5000)]
    fewer, _ = dropped(units, 0.1)
    start = time.monotonic()
    found = align(units, fewer)
    assert time.monotonic() - start < 20
    assert sum(None not in pair for pair in found) > 0.99 * len(fewer)
