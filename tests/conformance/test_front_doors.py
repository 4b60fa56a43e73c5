"""Every function that apex's lists name, called from Python as a function, a method, in place and with out=, under
every shipped policy: what the operators that it ends in are given is what `castscope policy explain` says of it.

Four of the policies are tried; with CONFORMANCE=whole in the environment (scripts/conformance), all.
The policies are enforced for the CPU, whatever device they are for, so that the functions run.
"""

import functools
import json
import subprocess
import sys

import enforcement
import length
import pytest
import runs

# The functions that apex's amp (O1) wraps, by what it does with the arguments: names in torch, torch.nn.functional and
# Tensor.
HALF = """conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc linear prelu addmm addmv addr
    matmul __matmul__ mm mv addbmm baddbmm bmm""".split()
FLOAT = """acos asin cosh erfinv exp expm1 log log10 log2 reciprocal rsqrt sinh tan pow __pow__ __rpow__ cumprod cumsum
    dist norm prod std sum var renorm interpolate grid_sample softplus softmin log_softmax softmax gelu layer_norm
    group_norm local_response_norm normalize cosine_similarity poisson_nll_loss cosine_embedding_loss cross_entropy
    hinge_embedding_loss kl_div l1_loss mse_loss margin_ranking_loss multilabel_margin_loss multilabel_soft_margin_loss
    multi_margin_loss nll_loss binary_cross_entropy_with_logits smooth_l1_loss soft_margin_loss triplet_margin_loss
    ctc_loss""".split()
WIDEST = """addcdiv addcmul atan2 cross bilinear dot add div mul eq equal ge gt le lt ne __add__ __sub__ __mul__
    __truediv__ __radd__ __rmul__ __rsub__ __eq__ __ge__ __gt__ __le__ __lt__ __ne__ cat stack""".split()
IN_PLACE = "__iadd__ __isub__ __imul__ __itruediv__ __ipow__".split()
NAMES = [*HALF, *FLOAT, *WIDEST, *IN_PLACE, "binary_cross_entropy"]


def policy(*command):
    """Returns the output of `castscope policy`, as JSON."""
    done = subprocess.run([str(runs.CASTSCOPE), "policy", command[0], "-f", "json", *map(str, command[1:])],
                          capture_output=True, text=True, check=False, env=runs.clean_environment())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SHIPPED = ["apex-o1", "fp32-everything", "torch-cpu", "torch-cuda"]
if length.WHOLE:
    SHIPPED = sorted(file.stem for file in enforcement.POLICIES.glob("*.json") if file.name != "policy.schema.json")


class Seen:
    """The dtypes that arrived below autocast under a policy, and what the policy is said to do."""

    def __init__(self, folder, name):
        self.policy = folder / "policy.json"
        self.policy.write_text(json.dumps({"extends": name, "device": "cpu"}))
        dtype = policy("check", self.policy)["policies"][0]["lower_precision"]
        self.lower = "bfloat16" if dtype in (None, "ambient") else dtype
        outcome = enforcement.under_enforcement(
            [sys.executable, runs.WORKLOADS / "front_doors.py", self.lower, *NAMES], folder / "run", self.policy)
        assert outcome.status == 0, outcome.stderr.decode()
        self.calls = [json.loads(line) for line in outcome.stdout.splitlines()]

    @functools.cache  # noqa: B019  there are a handful of these, until the tests end
    def explained(self, name):
        """Returns {function: its explanation} for the functions that have this name."""
        told = policy("explain", self.policy, name)["explanations"][0]
        return {one["function_name"]: one for one in told["functions"]}

    def said_of(self, function):
        last = function.removesuffix("(out=)").rpartition(".")[2]
        plain = last[:-1] if last.endswith("_") and not last.endswith("__") else last
        return self.explained(f"torch.nn.functional.{plain}" if function.startswith("torch.nn") else plain)[function]


@pytest.fixture(scope="module", params=SHIPPED)
def seen(request, tmp_path_factory):
    return Seen(tmp_path_factory.mktemp(request.param), request.param)


def keeps(way, floats, dtype, given, lower):
    """Whether an operator at the end of this way was given what the policy says."""
    kind = way["cast_policy"] if way["reached"] else "passthrough"
    if way["gives_dtype"]:  # what it is cast to first does not show
        return True
    if kind == "lower_precision_fp":
        return floats == [lower]
    if kind == "fp32":
        return floats == ["float32"]
    if kind in ("fp32_set_opt_dtype", "fp32_append_dtype"):
        return "float32" in (dtype, *floats)
    if kind == "promote":
        return floats == ["float32"] if given != "low" else len(floats) == 1
    return kind == "passthrough"


def as_a_whole(operators, low):
    """Returns the ones that do not compute in float32 where a function's arguments are cast. The casts themselves do
    not count, and the tensor that is written into, out=, is left as it is."""
    return [one for one in operators if one[0] != "_to_copy.default" and one[1] != ["float32"]
            and not (one[0].partition(".")[2].endswith("out") and set(one[1]) == {"float32", low})]


def wrong(seen, call):
    """Returns the operators of a call that were given something else than the explanation says."""
    said = seen.said_of(call["function"])
    if said["as_a_whole"] == "float":
        return as_a_whole(call["operators"], seen.lower)
    untouched = all(not way["reached"] or way["cast_policy"] == "passthrough" for way in said["ends_in"])
    own = {"float32": "float32", "low": seen.lower}.get(call["given"])
    bad = []
    for operator, floats, dtype in call["operators"]:
        ways = [way for way in said["ends_in"] if way["operator_chain"][-1] == operator]
        if ways and not any(keeps(way, floats, dtype, call["given"], seen.lower) for way in ways):
            bad.append([operator, floats, dtype])
        if ways and untouched and own and own not in floats:
            bad.append([operator, floats, dtype])
    return bad


def test_every_function_does_what_is_said_of_it(seen):
    found = {}
    for call in seen.calls:
        if "operators" in call and (bad := wrong(seen, call)):
            found.setdefault(f"{call['function']} given {call['given']}", bad)
    assert found == {}


def test_a_banned_function_raises(seen):
    banned = {call["function"] for call in seen.calls if "operators" in call
              for way in seen.said_of(call["function"])["ends_in"] if way["reached"] and way["cast_policy"] == "banned"}
    assert banned == set()  # none of these got through


def test_every_way_to_call_was_tried(seen):
    tried = {call["function"] for call in seen.calls if "operators" in call}
    for name in NAMES:
        if name == "binary_cross_entropy":
            continue
        doors = [function for function in seen.explained(name) if function.rpartition(".")[2].startswith(name)]
        assert doors and set(doors) <= tried, (name, sorted(set(doors) - tried))


# ---- apex's own lists, in its own words

PLACES = ("torch", "torch.nn.functional", "Tensor")  # not torch.masked and torch.sparse, which apex leaves alone


def front_doors(seen, names):
    """Calls that do not write into an argument."""
    placed = [(call, *call["function"].rpartition(".")[::2]) for call in seen.calls if "operators" in call]
    return [call for call, place, name in placed if name in names and place in PLACES]


@pytest.fixture(scope="module")
def by_apex(tmp_path_factory):
    return Seen(tmp_path_factory.mktemp("apex"), "apex-o1")


def test_apexs_blacklist_computes_in_float32(by_apex):
    found = {}
    for call in front_doors(by_apex, FLOAT):
        low = [one for one in call["operators"] if one[1] != ["float32"] and one[2] != "float32"]
        if low:
            found.setdefault(call["function"], low)
    assert found == {}


def test_apexs_whitelist_computes_in_float16(by_apex):
    for call in front_doors(by_apex, HALF):
        assert any(floats == ["float16"] for _, floats, _ in call["operators"]), call


def test_apexs_promotions_compute_in_the_widest(by_apex):
    for call in front_doors(by_apex, WIDEST):
        if call["given"] == "mixed":
            assert all(len(floats) == 1 for _, floats, _ in call["operators"]), call
