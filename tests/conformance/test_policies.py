"""The shipped policies do what the dispatcher of the installed PyTorch does, and are valid by their schema."""

import json
import pathlib
import re
import subprocess
import sys

import jsonschema
import length
import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
POLICIES = ROOT / "policies"
SCHEMA = json.loads((POLICIES / "policy.schema.json").read_text())
FILES = sorted(file for file in POLICIES.glob("*.json") if file.name != "policy.schema.json")
DEVICES = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA", "xpu": "AutocastXPU", "mps": "AutocastMPS"}


def read(file):
    return json.loads(re.sub(r"^\s*//.*$", "", file.read_text(), flags=re.MULTILINE))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policies")
    subprocess.run([sys.executable, POLICIES / "from_dispatcher.py", folder], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name",
                         [f"torch-{device}.json" for device in DEVICES] + ["fp32-everything.json", "operators.txt"])
def test_what_is_shipped_is_what_the_dispatcher_does(made, name):
    assert (made / name).read_text() == (POLICIES / name).read_text(), \
        "python policies/from_dispatcher.py writes it anew"


@pytest.mark.skipif(not length.WHOLE, reason="it takes long: scripts/conformance runs it")
def test_what_is_shipped_of_functions_is_what_python_calls(tmp_path):
    subprocess.run([sys.executable, POLICIES / "from_python.py", tmp_path / "functions.txt"], check=True,
                   capture_output=True)
    assert (tmp_path / "functions.txt").read_text() == (POLICIES / "functions.txt").read_text(), (
        "python policies/from_python.py writes it anew")


def overloads_meant(name):
    """Returns the overloads as docs/policies.md defines them: all that neither write into an argument nor return a
    view, or the one that is named."""
    name, _, overload = name.partition(".")
    if overload:
        return {f"aten::{name}" + ("" if overload == "default" else f".{overload}")}
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
    plain = [one for one in schemas if all(value.alias_info is None for value in [*one.arguments, *one.returns])]
    return {f"aten::{name}" + (f".{one.overload_name}" if one.overload_name else "") for one in plain}


@pytest.mark.parametrize("device", DEVICES)
def test_a_policy_means_every_autocast_kernel_and_no_other(device):
    lists = read(POLICIES / f"torch-{device}.json")["operators"].values()
    meant = [overload for names in lists for name in names for overload in overloads_meant(name)]
    assert len(meant) == len(set(meant))
    assert set(meant) == set(torch._C._dispatch_get_registrations_for_dispatch_key(DEVICES[device]))


# Said by PyTorch's documentation of autocast's operators (https://docs.pytorch.org/docs/stable/amp.html).
KNOWN = {
    "cpu": {"lower_precision_fp": ["conv2d", "linear", "matmul"], "fp32": ["mse_loss", "cdist", "fft_fft"],
            "promote": ["stack", "cat", "index_copy"]},
    "cuda": {"lower_precision_fp": ["conv2d.default", "linear", "matmul", "prelu"],
             "fp32": ["layer_norm", "exp.default", "cosine_similarity", "pow.Tensor_Tensor"],
             "fp32_set_opt_dtype": ["softmax", "log_softmax", "cumsum", "prod"],
             "promote": ["addcdiv", "atan2.default", "bilinear", "scatter_add"], "banned": ["binary_cross_entropy"]},
}


@pytest.mark.parametrize("device", KNOWN)
def test_what_is_documented_is_found(device):
    lists = read(POLICIES / f"torch-{device}.json")["operators"]
    for kind, names in KNOWN[device].items():
        assert set(names) <= set(lists[kind]), kind


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_policies_are_valid_by_their_schema(file):
    jsonschema.Draft202012Validator(SCHEMA).validate(read(file))


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("wrong", [
    [], {"devise": "cpu"}, {"device": "gpu"}, {"operators": {"fp23": []}}, {"operators": {"fp32": [7]}},
    {"operators": {"banned": {"bmm": ""}}}, {"never_cast": {"bmm": []}}, {"modules": {"a": 1}},
    {"functions": {"no_module": "half"}}, {"functions": {"a:b": "double"}}, {"cache": {"keep": "forever"}},
    {"cache": {"max_bytes": -1}},
])
def test_the_schema_says_no(wrong):
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(wrong)
