"""The alignment of modes on part of scripts/modes, and true pairs that were written down by hand from the modules'
code."""

import collections
import dataclasses

import mode_truth
import pytest
from mode_alignment import recorded, without_shapes
from mode_modules import cases
from mode_programs import programs
from mode_truth import both, held, truth

from castscope.modes.alignment import align
from castscope.modes.units import Line, Unit

CASES = {case.name: case for case in cases()}
# Compiling takes seconds: a loop with a break in its graph, blocks of one class, and one that is compiled otherwise.
SHORT = {"script": None, "trace": None, "export": None, "compile": ("halved", "Nested", "SkippedBlocks")}
# The failures that docs/modes.md lists: how many are wrong, how many missed.
KNOWN = {("script", "attention_functions"): (0, 1), ("trace", "attention_functions"): (0, 1),
         ("script", "scripted_otherwise"): (2, 0), ("trace", "traced_otherwise"): (3, 0),
         ("export", "compiled_otherwise"): (8, 8)}
MEASURED = [(way, name) for way, names in SHORT.items() for name, case in CASES.items()
            if (name in names if names else case.short) and case.runs_in(way)]


def measured(name, way):
    eager, units, error = recorded(CASES[name], way)
    assert error is None, error
    return eager, units, both(align(without_shapes(eager), without_shapes(units)))


@pytest.mark.parametrize("way, name", MEASURED, ids=map("-".join, MEASURED))
def test_what_belongs_together_is_paired(way, name):
    eager, units, pairs = measured(name, way)
    known = truth(eager, units, CASES[name].alike)
    assert known.pairs >= 5 and len(known.unlabelled) <= len(eager) // 4  # there is something to be held against
    score = held(pairs, known)
    assert (score.wrong, score.missed) == KNOWN.get((way, name), (0, 0))
    assert score.right + score.missed == known.pairs


@pytest.mark.parametrize("way, name", [("script", "several_on_a_line"), ("trace", "Highway"), ("export", "Encoder"),
                                       ("compile", "halved")])
def test_the_truth_finds_pairs_that_are_shifted(way, name):
    """This is the same alignment, with one unit of the mode mistaken for the next of its operator."""
    eager, units, pairs = measured(name, way)
    known = truth(eager, units, CASES[name].alike)
    before, moved = held(pairs, known), False
    for at, (i, j) in enumerate(pairs):
        other = next((k for k in range(i + 1, len(eager)) if eager[k].operator == eager[i].operator), None)
        if (i, j) in known and other is not None and (other, j) not in known:
            pairs[at], moved = (other, j), True
            break
    after = held(pairs, known)
    assert moved and (after.wrong, after.missed) == (before.wrong + 1, before.missed + 1)


@pytest.mark.parametrize("name", ["Nested", "StackedShared", "several_on_a_line"])
def test_the_alignment_does_not_look_at_shapes(name):
    eager, units, pairs = measured(name, "trace")
    assert pairs == both(align(eager, units))


def names(units):
    return " ".join(unit.operator for unit in units)


def test_dead_code_by_hand():
    """TorchScript drops unused, softmax and everything made from them; eager runs them."""
    eager, units, pairs = measured("DeadCode", "script")
    assert names(eager) == "addmm relu addmm relu addmm relu softmax add relu addmm relu mul relu"
    assert names(units) == "addmm relu addmm relu addmm relu"
    assert pairs == [(0, 0), (1, 1), (4, 2), (5, 3), (9, 4), (12, 5)]


def test_merged_code_by_hand():
    """`relu(layer(x)) + gelu(layer(x))`: one of both addmm is left. relu, gelu and add have their own partners."""
    eager, units, pairs = measured("Repeated", "script")
    assert names(eager) == ("addmm relu addmm gelu add " * 2 + "addmm gelu addmm relu add")
    assert names(units) == ("addmm relu gelu add " * 2 + "addmm gelu relu add")
    found = dict(pairs)
    assert [found.get(i) for i in (1, 3, 4, 6, 8, 9, 11, 13, 14)] == [1, 2, 3, 5, 6, 7, 9, 10, 11]
    assert {j: i for i, j in pairs}[0] in (0, 2)


@pytest.mark.parametrize("way", ["script", "trace"])
def test_what_is_left_of_a_line_by_hand(way):
    """Of three relu on a line the second is used, of three tanh the first, of three exp the third: their values show
    it."""
    eager, units, pairs = measured("dead_on_a_line", way)
    assert names(eager) == "relu relu relu mm tanh tanh tanh mm exp exp exp mm"
    assert names(units) == "relu mm tanh mm exp mm"
    assert pairs == [(1, 0), (3, 1), (4, 2), (7, 3), (10, 4), (11, 5)]


def test_blocks_that_are_not_used_by_hand():
    """A trace runs blocks 0, 2 and 4 of five; each operator keeps the line and the path of its module."""
    eager, units, pairs = measured("UnusedBlocks", "trace")
    assert names(eager) == "layer_norm addmm gelu addmm add " * 5 + "add add"
    kept = [*range(0, 5), *range(10, 15), *range(20, 27)]
    assert pairs == list(zip(kept, range(17))) and len(units) == 17
    for i, j in pairs:
        assert (units[j].line, units[j].module) == (eager[i].line, eager[i].module)


def test_two_operators_on_a_line_of_a_class_by_hand():
    """`tanh(mm(x, weight))` in each leaf: both have the path of their own leaf in a trace."""
    eager, units, pairs = measured("Nested", "trace")
    assert pairs == [(at, at) for at in range(len(eager))] and len(units) == len(eager) == 3 * 9 + 4
    assert [unit.module for unit in units] == [unit.module for unit in eager]
    assert units[6].module == units[7].module == "branches.0.last"


@pytest.mark.parametrize("way", ["compile", "export"])
def test_blocks_that_are_left_out_by_hand(way):
    """Of six blocks with five operators each, the second and fifth are left out: the module's path shows it."""
    eager, units, pairs = measured("SkippedBlocks", way)
    assert names(eager) == " ".join(["layer_norm addmm gelu addmm add"] * 6)
    assert names(units) == " ".join(["layer_norm addmm gelu addmm add"] * 4)
    kept = [*range(0, 5), *range(10, 20), *range(25, 30)]
    assert pairs == list(zip(kept, range(20)))


def test_a_loop_until_a_value_is_small_by_hand():
    """2 is halved six times until it is below 0.05: seven questions, six rounds, and a last product."""
    for way in ("script", "trace", "compile"):
        eager, units, pairs = measured("halved", way)
        rounds = "gt mm mul " * 6
        assert names(eager) == rounds + "gt mm relu add"
        if way == "trace":  # has the path of the example, and no questions
            assert names(units) == "mm mul " * 6 + "mm relu add"
        else:
            assert names(units) == names(eager) and pairs == [(at, at) for at in range(len(eager))]
        assert len(pairs) == len(units)


def test_programs_by_chance(tmp_path):
    """TorchScript drops much of them; the truth knows both what is left and what is not."""
    total, alone = mode_truth.Score(), 0
    for case in programs(6, tmp_path):
        for way in ("script", "trace"):
            eager, units, error = recorded(case, way)
            known = truth(eager, units)
            total += held(both(align(without_shapes(eager), without_shapes(units))), known)
            alone += known.alone
    assert total.right + total.missed >= 120 and alone >= 60
    assert total.precision >= 0.99 and total.recall >= 0.99, total


def unit(operator, *shapes):
    return Unit(operator, operator, (), None, (Line("net.py", 1, "f"),), shapes=shapes)


def test_the_truth_labels_what_occurs_once_in_both():
    left = [unit("mm", (2, 3)), unit("mm", (3, 3)), unit("mm", (3, 3)), unit("relu", (4,)), unit("exp", (5,))]
    right = [unit("mm", (3, 3)), unit("mm", (2, 3)), unit("relu", (9,)), unit("mm", (3, 3))]
    known = truth(left, right)
    assert known.left == {0: (1,), 3: (), 4: ()} and known.right == {1: (0,), 2: ()}
    assert (known.pairs, known.alone, len(known.unlabelled)) == (1, 3, 2)


def test_shapes_of_inputs_in_another_order_are_the_same():
    assert truth([unit("add", (2, 3), (3,))], [unit("add", (3,), (2, 3))]).left == {0: (0,)}


def test_another_number_of_tensors_is_not_labelled():
    known = truth([unit("cat", (2,), (3,)), unit("cat", (5,), (4,))], [unit("cat", (2,), (3,), (4,))])
    assert not known.left and not known.right and len(known.unlabelled) == 2


def test_of_values_that_are_merged_any_is_right():
    left, right = [unit("mm", (2, 2)), unit("mm", (2, 2))], [unit("mm", (2, 2))]
    known = truth(left, right, alike=("mm",))
    assert dataclasses.astuple(held([(0, 0)], known)) == dataclasses.astuple(held([(1, 0)], known)) == (1, 0, 0)
    assert dataclasses.astuple(held([], known)) == (0, 0, 1)


def test_pairs_of_what_has_no_partner_are_wrong():
    known = truth([unit("mm", (2, 2)), unit("relu", (2,))], [unit("mm", (3, 3)), unit("relu", (2,))])
    assert dataclasses.astuple(held([(0, 0), (1, 1)], known)) == (1, 1, 0)


def test_dtypes_are_compared_by_shape():
    def summed(*dtypes, output):
        return dataclasses.replace(unit("add", (2, 3), (3,)), input_dtypes=dtypes, output_dtype=output)
    mixed = summed("bfloat16", "float32", output="float32")
    assert not mode_truth.same_dtypes(mixed, summed("bfloat16", "bfloat16", output="bfloat16"))
    assert mode_truth.same_dtypes(mixed, summed("float32", "float32", output="float32"))
    swapped = dataclasses.replace(mixed, shapes=((3,), (2, 3)), input_dtypes=("float32", "bfloat16"))
    assert mode_truth.same_dtypes(mixed, swapped)


def test_each_way_has_enough_cases():
    short = collections.Counter(way for way, _ in MEASURED)
    assert min(short["script"], short["trace"], short["export"]) >= 20 and short["compile"] == 3
