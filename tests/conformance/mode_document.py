"""Writes docs/modes.md from the measurements of mode_alignment.py."""

import collections

import torch
from mode_truth import SIMPLER

# The reasons why a case has pairs that are wrong or missing.
WHY = {
    "einsums": "several `einsum` in a row are at one line of PyTorch, and each is made of others: where one ends and "
               "the next begins, the interpreter does not tell",
    "attention_functions": "a mask is worked out before the script runs: it has no line and comes first",
    "Rotary": "tables are worked out before the script runs: they have no line and come first",
    "scripted_otherwise": "branches that only one mode takes: operators of the same name in both are paired",
    "traced_otherwise": "branches that only one mode takes: operators of the same name in both are paired",
    "by_dtype": "a trace is made in float32 and takes the other branch: operators of the same name in both are paired",
    "compiled_otherwise": "an exported function has no lines but its caller's, and of a loop that lacks some rounds "
                          "order alone does not tell which",
    "dead_on_a_line": "of equal operators on one line all but one are dropped: the first is taken for it",
    "loop_with_drops": "of equal operators at one line some are dropped: the first ones are taken for what is left",
    "loop_whose_values_are_partly_used": "of the rounds of a loop some are dropped: the first are taken for the rest",
    "tuples_and_dicts": "of the rounds of a loop all but the last are dropped: the first is taken for it",
    "comprehensions": "of the elements of a comprehension all but the first are dropped: another is taken for it",
    "UnusedBlocks": "nodes of the trace that are dropped before it runs lend their lines and modules to others",
    "LstmLayers": "nodes of the trace that are dropped before it runs lend their lines and modules to others",
    "Nested": "two operators on a line in a class of modules that is used often: the run is followed too slowly along "
              "the trace, and units get the path of another module",
    "Repeated": "a merged operator has the place of another",
}
INTRODUCTION = """# Modes: how well operators are found again

<!-- Written by scripts/modes: run that instead of editing. -->

`castscope compare` lays the operators of script, trace, compile and export beside those of eager
([how](decisions/comparison.md)). It has to know which is which. How well it does is measured here, on {cases} functions
and modules of our own (`tests/conformance/mode_modules*.py`), with torch {torch} under `no_grad`. To repeat it, about
four minutes on two cores: `scripts/modes`. Continuous integration runs part of it (`test_mode_alignment.py`).

**Unit**: an operator as it is computed, below autocast and below operators that are only made of others: `linear` is
`addmm` in each mode, `einsum` is `bmm`. Views, copies, fills and casts are none.

**What the alignment has**: the operators' names and order, the lines of the user's code that led to each, module paths,
and which unit made each input. Not shapes: they are taken away before it is asked.

**Truth**: shapes. The modules are written so that nearly every operator works on sizes of its own: widths grow, rows
are dropped, sequences end one after the other. Two units are the same one if their names and input shapes (in any
order) are equal and occur once in both recordings. A unit whose name and shapes are not in the other recording has no
partner, and to pair it is wrong. Where a module says that it works out one value several times, those units have equal
shapes: in equal number they are paired in order, and where a mode merges them any of them is right. Other units of
equal name and shapes have no label, nor has an operator that takes another number of tensors in the other recording
(two `cat` made one). Graphs are compiled for one size each, so that they are listed with the sizes that they ran with.

Script, trace and compile run in a bfloat16 region around the call. *export* has the region inside of the program;
*ambient export* is captured in a region and run outside.
"""
WRONG = """*Wrong*: pairs with a labelled unit in them that are not the labelled pair. Precision is right of right and
wrong, recall right of all labelled pairs.
"""
BY_CHANCE = """## Programs by chance

The modules above are also those by which the alignment was mended. {count} programs that nobody looked at
(`mode_programs.py`): helpers, loops, equal operators on a line, much of it dead code.
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
        ("mode", "labelled pairs that differ", "of these reported", "reported otherwise"),
        *((way, row["differing"], row["reported"], row["false"]) for way, row in by_way.items())) + """
Two units differ if inputs of equal shapes, or the first outputs, have other dtypes. `bfloat16 + float32` and `float32 +
float32` do not: the first promotes by itself. *Reported otherwise* are differences of labelled units that are none.
"""


def simpler(by_way):
    def both(score):
        return f"{score.precision:.3f}, {score.recall:.3f}"
    heading = "## Simpler keys\n\nThe k-th on one side is the k-th of equal key on the other. Precision, recall:\n\n"
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
    return "## What has no label\n\n" + "; ".join(
        f"`{name}`: {', '.join(sorted(operators))}" for name, operators in cases.items()) + ".\n"


def refused(wanted):
    def names(way):
        return ", ".join(f"`{case.name}`" for case in wanted if not case.runs_in(way)) or "none"
    return "## What a mode refuses\n\nThese are not measured there.\n\n" + "\n".join(
        f"- {way}: {names(way)}" for way in WAYS) + "\n"
