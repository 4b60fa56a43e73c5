"""Arguments in containers: the tensors in them that are cast, and the objects that stay the very same."""

import collections
import dataclasses

import torch
from casting_verbs import FLOAT, LOW, of, region
from castscope import half_function

Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Box:
    tensor: torch.Tensor


def test_nested_containers_are_cast_and_keep_their_types():
    @half_function
    def take(nested):
        return nested

    x, = of(FLOAT)
    given = {"list": [x, (x, 3)], "pair": Pair(x, "text"),
             "ordered": collections.OrderedDict(a=x), "max": torch.max(torch.ones(2, 2), dim=0)}
    with region():
        got = take(given)
    assert type(got["list"]) is list and got["list"][0].dtype is LOW and got["list"][1][0].dtype is LOW
    assert type(got["pair"]) is Pair and got["pair"].first.dtype is LOW and got["pair"].second == "text"
    assert type(got["ordered"]) is collections.OrderedDict and got["ordered"]["a"].dtype is LOW
    assert type(got["max"]) is type(given["max"]) and got["max"].values.dtype is LOW
    assert given["list"][0] is x and given["pair"].first is x, "the caller's own are not changed"


def test_subclasses_of_containers_keep_their_attributes():
    class Tuple(tuple):
        pass

    class List(list):
        pass

    class Dict(dict):
        pass

    x, = of(FLOAT)
    given = [Tuple([x]), List([x]), Dict(a=x)]
    for container in given:
        container.note = "kept"
    with region():
        got = half_function(lambda *args: args)(*given)
    assert [type(container) for container in got] == [Tuple, List, Dict]
    assert [container.note for container in got] == ["kept"] * 3
    assert [got[0][0].dtype, got[1][0].dtype, got[2]["a"].dtype] == [LOW] * 3


def test_packed_sequences_are_cast():
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2, 3)])
    with region():
        got = half_function(lambda packed: packed)(packed)
    assert type(got) is type(packed) and got.data.dtype is LOW and got.batch_sizes.dtype is torch.int64


def test_what_has_nothing_to_cast_is_the_very_object():
    given = [of(LOW), {"a": 1}, Box(torch.ones(2)), "text", Pair(1, 2)]
    with region():
        got = half_function(lambda *args: args)(*given)
    assert all(new is old for new, old in zip(got, given))
