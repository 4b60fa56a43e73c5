"""Arguments that keep their dtype: the forum's RoI pooling whose rois must never be cast."""

import castscope
import pytest
import torch
from casting_verbs import FLOAT, HALF, LOW, ones, region
from castscope import half_function, never_cast, promote_function
from torch import nn


class RoIPool(nn.Module):
    """Like torchvision's: a class that one imports and cannot edit."""

    def forward(self, x, rois):
        return x.dtype, rois.dtype, torch.mm(rois, rois).dtype


def test_roipool_rois_never_cast():
    """The wrapping class that was asked for: features in float32, rois as they come, and nothing in it casts them."""
    @never_cast("rois")
    class Mine(RoIPool):
        pass

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.pool = nn.Linear(2, 2), Mine()

        def forward(self, x, rois):
            return self.pool(self.conv(x), rois)

    rois = ones()
    with region():
        assert Model()(ones(), rois) == (FLOAT, FLOAT, FLOAT)
        assert Mine()(ones(LOW), rois=ones(HALF)) == (FLOAT, HALF, HALF)
        assert RoIPool()(ones(LOW), rois) == (LOW, FLOAT, LOW), "the imported class stays as it is"


def test_rois_are_the_very_tensor_and_the_result_is_left_alone():
    rois = ones()
    with region():
        got, result = never_cast("rois")(lambda x, rois: (rois, x))(ones(LOW), rois)
    assert got is rois and result.dtype is FLOAT


@pytest.mark.parametrize("annotate", [lambda f: half_function(never_cast("rois")(f)),
                                      lambda f: never_cast("rois")(half_function(f))])
def test_above_and_below_another_annotation(annotate):
    pool = annotate(lambda x, rois: (x.dtype, rois.dtype))
    with region():
        assert pool(ones(), ones()) == (LOW, FLOAT)
        assert pool(rois=ones(), x=ones()) == (LOW, FLOAT)
        assert pool(ones(), rois=ones()) == (LOW, FLOAT)


def test_what_is_never_cast_has_no_say_in_the_widest_type():
    pool = never_cast("rois")(promote_function(lambda x, y, rois: (x.dtype, y.dtype, rois.dtype)))
    with region():
        assert pool(ones(LOW), ones(LOW), ones()) == (LOW, LOW, FLOAT)


def test_names_add_up():
    pool = never_cast("rois")(never_cast("x")(lambda x, rois, y: (x.dtype, rois.dtype, y.dtype)))
    with region():
        assert pool(ones(LOW), ones(HALF), ones(LOW)) == (LOW, HALF, FLOAT)


def test_at_the_level_of_one_object():
    pool = never_cast("rois")(RoIPool())
    with region():
        assert pool(ones(LOW), ones(HALF)) == (FLOAT, HALF, HALF)


def test_at_the_level_of_one_object_with_another_annotation():
    for pool in (half_function(never_cast("rois")(RoIPool())), never_cast("rois")(half_function(RoIPool()))):
        with region():
            assert pool(ones(), ones())[:2] == (LOW, FLOAT)


def test_a_list_of_rois_is_not_cast():
    pool = never_cast("rois")(lambda x, rois: [roi.dtype for roi in rois])
    given = [ones(HALF), ones(LOW)]
    with region():
        assert pool(ones(), given) == [HALF, LOW]


def test_all_of_args_and_kwargs():
    def pool(x, *rest, key, **more):
        return [value.dtype for value in (x, *rest, key, *more.values())]

    one = {"key": ones(LOW), "extra": ones(LOW)}
    with region():
        assert never_cast("rest")(pool)(ones(LOW), ones(LOW), ones(HALF), **one) == [FLOAT, LOW, HALF, FLOAT, FLOAT]
        assert never_cast("more")(pool)(ones(LOW), ones(LOW), **one) == [FLOAT, FLOAT, FLOAT, LOW]
        assert never_cast("key")(pool)(ones(LOW), **one) == [FLOAT, LOW, FLOAT]


def test_a_name_among_kwargs_is_found_by_its_name():
    pool = never_cast("rois")(lambda x, **more: (x.dtype, more["rois"].dtype))
    with region():
        assert pool(ones(LOW), rois=ones(HALF)) == (FLOAT, HALF)


def test_an_operator_tells_its_arguments_by_its_schema():
    add = never_cast("other")(half_function(torch.ops.aten.add.Tensor))
    with region():
        assert add(ones(), ones()).dtype is FLOAT
        assert add(ones(), other=ones()).dtype is FLOAT


@pytest.mark.parametrize("pool, message", [
    (lambda x, rois: x, r"<lambda> has no argument 'roi'; did you mean 'rois'\? \(it has x, rois\)"),
    (RoIPool, "forward has no argument 'roi'; did you mean 'rois'"),
    (lambda *args, **kwargs: 0, "takes any arguments"),
    (torch.add, r"the signature of \S*add cannot be read"),
])
def test_a_name_that_the_signature_lacks_is_refused(pool, message):
    with pytest.raises(ValueError, match=message):
        never_cast("roi")(pool)


def test_a_refused_class_stays_as_it_was():
    forward = RoIPool.forward
    with pytest.raises(ValueError, match="roi"):
        never_cast("roi")(RoIPool)
    assert RoIPool.forward is forward


def test_no_name_is_refused():
    for names in ((), (RoIPool,)):
        with pytest.raises(TypeError, match="names of arguments"):
            never_cast(*names)


def test_outside_autocast_nothing_changes():
    pool = castscope.never_cast("rois")(RoIPool())
    assert pool(ones(LOW), ones()) == (LOW, FLOAT, FLOAT)
