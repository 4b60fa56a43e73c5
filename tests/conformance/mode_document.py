"""Writes docs/modes.md from the measurements of mode_alignment.py."""

import collections

import torch
from mode_truth import SIMPLER

# The reasons why a case has pairs that are wrong or missing.
WHY = {
    "einsums": "several `einsum` in a row have the same line, one of PyTorch's own, and each is made of other "
               "operators: the interpreter does not tell where one ends and the next begins",
    "attention_functions": "a mask is worked out before the script runs: its operators have no line and come first",
    "Rotary": "tables are worked out before the script runs: their operators have no line and come first",
    "scripted_otherwise": "the script takes another branch than eager: operators of the same name in both are paired",
    "traced_otherwise": "the trace takes another branch than eager: operators of the same name in both are paired",
    "by_dtype": "a trace is made in float32 and takes the other branch: operators that have the same name in both "
                "branches are paired",
    "compiled_otherwise": "operators of an exported function have only their caller's line, and where rounds of a loop "
                          "are missing, order alone does not tell which ones",
    "dead_on_a_line": "equal operators are on one line, and all but one are dropped: the first is taken for that one",
    "loop_with_drops": "equal operators are on one line, and some are dropped: the first are taken for those left",
    "loop_whose_values_are_partly_used": "some rounds of a loop are dropped: the first are taken for those left",
    "tuples_and_dicts": "all rounds of a loop but the last are dropped: the first is taken for the last",
    "comprehensions": "all elements of a comprehension but the first are dropped: another is taken for the first",
    "UnusedBlocks": "nodes of the trace that are dropped before it runs lend their lines and modules to others",
    "LstmLayers": "nodes of the trace that are dropped before it runs lend their lines and modules to others",
    "Nested": "two operators on a line in a class of modules that is used often: the run is followed too slowly along "
              "the trace, and units get the path of another module",
    "Repeated": "a merged operator has the place of another",
}
INTRODUCTION = """# Modes: how well castscope compare pairs operators

<!-- Written by scripts/modes: run that instead of editing. -->

`castscope compare` lays the operators of script, trace, compile and export beside those of eager
([how](decisions/comparison.md)). For that it has to know which operator of a mode is which one of eager: it *aligns*
the two. How well it does so is measured here, on {cases} functions and modules of our own
(`tests/conformance/mode_modules*.py`), with torch {torch} under `no_grad`. `scripts/modes` repeats the measurement; it
takes about four minutes on two cores. Continuous integration runs part of it (`test_mode_alignment.py`).

**Unit**: what is paired. A unit is an operator as it is computed, below autocast and below operators that are only made
of others: `linear` is `addmm` in each mode, `einsum` is `bmm`. Views, copies, fills and casts are not units.

**What the alignment knows**: the operators' names and order, the lines of the user's code that led to each, module
paths, and which unit made each input. It does not know the shapes of tensors: they are taken away before it runs.

**Truth**: the shapes tell which pairs are right. The modules are written so that nearly every operator works on sizes
that no other has: widths grow, rows are dropped, sequences end one after the other. A unit is *labelled* if its right
partner is known, or if it is known to have none:
- Two units are the same one if their names and input shapes (in any order) are equal and occur once in each of the two
  recordings.
- A unit whose name and shapes do not occur in the other recording has no partner. Each pair with it is wrong.
- A module can say that it works out one value several times; those units have equal shapes. If both recordings have
  equally many of them, they are partners in order. If a mode merges them, each of them is a right partner.
- Other units of equal name and shapes are not labelled. Nor is an operator that takes another number of tensors in the
  other recording (two `cat` made one).

Graphs are compiled for one size each, so that the sizes in a recording are those that the graph ran with.

Script, trace and compile run in a bfloat16 region around the call. *export* is a program that has the region inside
itself; *ambient export* is a program that was captured in a region and runs outside of it.
"""
WRONG = """\
A *labelled pair* is two units that are known to be partners. A pair that the alignment made is *right* if it is a
labelled pair, and *wrong* if it is not, but has a labelled unit in it. A labelled pair that was not made is *missed*.
Precision is the share of right pairs among right and wrong ones; recall is their share among all labelled pairs.
"""
BY_CHANCE = """## Programs made at random

The alignment was improved with the modules above, so it may know them too well. This table is of {count} programs that
were made at random and that nobody looked at (`mode_programs.py`). They have helpers, loops, equal operators on a line,
and much dead code.
"""
WAYS = ("script", "trace", "compile", "export", "ambient export")


def rows(head, *lines):
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|",
                      *(f"| {' | '.join(map(str, line))} |" for line in lines)]) + "\n"


def document(wanted, found, by_chance, sums):
    by_way = {way: sums(found, way) for way in WAYS}
    return "\n".join([
        INTRODUCTION.format(cases=len(wanted), torch=torch.__version__), "## Alignment\n", alignment(by_way), WRONG,
        precision(by_way), simpler(by_way), failures(found), unlabelled(found), refused(wanted),
        BY_CHANCE.format(count=len({one.name for one in by_chance})),
        alignment({way: sums(by_chance, way) for way in WAYS})])


def alignment(by_way):
    head = ("mode", "modules", "eager's units", "the mode's", "labelled pairs", "labelled without partner",
            "of eager's not labelled", "right", "wrong", "missed", "precision", "recall")
    return rows(head, *(
        (way, row["modules"], row["eager"], row["units"], row["pairs"], row["alone"],
         f"{row['unlabelled']} ({row['unlabelled'] / max(1, row['eager']):.1%})",
         row["score"].right, row["score"].wrong, row["score"].missed,
         f"**{row['score'].precision:.4f}**", f"**{row['score'].recall:.4f}**")
        for way, row in by_way.items()))


def precision(by_way):
    return "## Differences of dtype\n\n" + rows(
        ("mode", "labelled pairs that differ", "reported", "reported wrongly"),
        *((way, row["differing"], row["reported"], row["false"]) for way, row in by_way.items())) + """
Two units differ if inputs of equal shapes, or the first outputs, have different dtypes. `bfloat16 + float32` and
`float32 + float32` do not differ: the first promotes by itself. The third column has how many of the differing pairs
`castscope compare` reports. The last column has reports about labelled units that do not differ.
"""


def simpler(by_way):
    def both(score):
        return f"{score.precision:.3f}, {score.recall:.3f}"
    heading = """## Simpler keys

Instead of aligning, one can give each unit a key, such as its line, and pair the k-th unit that has a key on one side
with the k-th that has the same key on the other. The table has the precision and recall of three such keys, and in its
last row those of the alignment:

"""
    return heading + rows(
        ("key", *WAYS), *((name, *(both(by_way[way]["simpler"][name]) for way in WAYS)) for name in SIMPLER),
        ("alignment", *(both(by_way[way]["score"]) for way in WAYS)))


def failing(found):
    """Returns case → way → how many pairs are wrong, and how many are missed."""
    cases = collections.defaultdict(dict)
    for one in found:
        kinds = collections.Counter(how for _, _, how in one.failures)
        if kinds:
            cases[one.name][one.way] = kinds
    return cases


def failures(found):
    def told(ways):
        return "; ".join(f"{way}: " + ", ".join(f"{kinds[how]} {how}" for how in ("wrong", "missed") if kinds[how])
                         for way, kinds in ways.items())
    cases = failing(found)
    return "## What is wrong or missing, and why\n\n" + (rows(
        ("module", "units", "why"), *((f"`{name}`", told(ways), WHY.get(name, "")) for name, ways in cases.items()))
        if cases else "Nothing.\n")


def unlabelled(found):
    cases = collections.defaultdict(set)
    for one in found:
        if one.truth.unlabelled:
            cases[one.name].update(unit.operator for unit in one.truth.unlabelled)
    return "## What has no label\n\nThese operators of these modules are not labelled:\n\n" + "; ".join(
        f"`{name}`: {', '.join(sorted(operators))}" for name, operators in cases.items()) + ".\n"


def refused(wanted):
    def names(way):
        return ", ".join(f"`{case.name}`" for case in wanted if not case.runs_in(way)) or "none"
    return "## What a mode refuses\n\nA mode refuses these modules, so they are not measured in it.\n\n" + "\n".join(
        f"- {way}: {names(way)}" for way in WAYS) + "\n"
