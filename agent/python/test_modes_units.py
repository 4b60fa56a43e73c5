"""The operators that count, their names, and when two of them computed in the same precision."""

import pytest
from castscope.modes.units import Line, Unit, computes, operator_name


def unit(inputs, output, **more):
    return Unit("add", "aten::add", tuple(inputs), output, **more)


@pytest.mark.parametrize("packet, name", [
    ("aten::addmm", "addmm"),
    ("aten::relu_", "relu"),
    ("aten::native_layer_norm", "layer_norm"),
    ("aten::_native_batch_norm_legit", "batch_norm"),
    ("aten::cudnn_batch_norm", "batch_norm"),
    ("aten::mkldnn_convolution", "convolution"),
    ("aten::_scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_attention"),
    ("aten::_scaled_dot_product_efficient_attention", "scaled_dot_product_attention"),
    ("aten::_softmax", "softmax"),
    ("aten::_log_softmax", "log_softmax"),
    ("aten::max_pool2d_with_indices", "max_pool2d"),
    ("mine::roi_align", "roi_align"),
])
def test_modes_share_one_name_for_an_operator(packet, name):
    assert operator_name(packet) == name


@pytest.mark.parametrize("packet", ["aten::_to_copy", "aten::copy_", "aten::clone", "aten::fill_", "aten::uniform_",
                                    "prims::convert_element_type", "aten::_local_scalar_dense"])
def test_casts_copies_fills_and_questions_compute_nothing(packet):
    assert not computes(packet)


def test_a_cat_and_a_custom_operator_compute():
    assert computes("aten::cat") and computes("mine::roi_align")


@pytest.mark.parametrize("inputs, output, said", [
    (["bfloat16"] * 3, "bfloat16", "bfloat16"),
    (["bfloat16", "float32", "float32"], "float32", "bfloat16,float32→float32"),
    (["float32"], None, "float32"),
    ([], "float32", "float32"),
])
def test_what_it_computed_in_for_people(inputs, output, said):
    assert unit(inputs, output).computed == said


def test_a_tensor_made_of_a_number_is_no_difference():
    assert unit(["bfloat16"], "bfloat16").same_precision(unit(["bfloat16", "bfloat16"], "bfloat16"))


@pytest.mark.parametrize("inputs, output", [(["float32"], "bfloat16"), (["bfloat16"], "float32")])
def test_inputs_and_output_count(inputs, output):
    assert not unit(["bfloat16"], "bfloat16").same_precision(unit(inputs, output))


def test_its_line_is_the_innermost():
    assert str(unit([], None, stack=(Line("a.py", 3, "f"), Line("b.py", 9, "g"))).line) == "a.py:3"
    assert unit([], None).line is None


def test_promoting_is_computing_in_the_wider_dtype():
    mixed, promoted = (Unit("add", "aten::add", dtypes, "float32") for dtypes in (("bfloat16", "float32"),
                                                                                 ("float32", "float32")))
    low = Unit("add", "aten::add", ("bfloat16", "bfloat16"), "float32")
    assert mixed.same_precision(promoted) and promoted.same_precision(mixed)
    assert not low.same_precision(promoted)
