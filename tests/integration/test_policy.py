"""`castscope policy`: what policy files decide, and the messages about wrong ones."""

import json

import pytest
from program import ROOT


@pytest.fixture
def policy(castscope):
    def ask(*arguments):
        return castscope("policy", *arguments, text=True)

    return ask


def test_the_shipped_ones_are_listed_and_understood(policy):
    names = [one["policy"] for one in json.loads(policy("list", "-f", "json").stdout)["policies"]]
    assert {"apex-o1", "apex-o1-any", "fp32-everything", "ipex-xpu", "torch-cpu", "torch-cuda", "torch-mps",
            "torch-xpu"} == set(names)
    told = policy("check", *names)
    assert told.returncode == 0
    assert all(f"{name}: understood" in told.stdout for name in names)


def test_a_decision_and_its_reasons(policy, castscope):
    (castscope.folder / "mine.json").write_text("""{
        // ours
        "extends": "torch-cuda",
        "modules": {"head\\\\..*": "fp32"}
    }""")
    told = policy("explain", "mine.json", "linear", "--module", "head.fc")
    assert told.returncode == 0
    assert told.stdout.startswith("linear in head.fc by mine.json\n  fp32 ")
    words = " ".join(told.stdout.split())
    assert 'because modules "head\\..*" → fp32 (mine.json:4:21)' in words
    assert 'which stands above operators lower_precision_fp "linear" (torch-cuda.json:' in words
    [decision] = json.loads(policy("explain", "-f", "json", "mine.json", "linear").stdout)["explanations"]
    assert (decision["cast_policy"], decision["decided_dtype"]) == ("lower_precision_fp", "ambient")


def test_overloads_that_are_decided_otherwise_are_told_apart(policy):
    decided = json.loads(policy("explain", "-f", "json", "torch-cuda", "norm").stdout)["explanations"]
    kinds = {one["operator"]: one["cast_policy"] for one in decided}
    assert kinds["aten::norm.Scalar"] == "fp32_append_dtype"
    assert kinds["aten::norm.ScalarOpt_dtype"] == "passthrough"


@pytest.mark.parametrize(("text", "said"), [
    ('{"device": "cpu",\n "operators": {"fp32": ["sofmax"]}}',
     'bad.json:2:25: "sofmax" is not an operator of PyTorch 2.13.0; did you mean "softmax"?'),
    ('{"extends": "bad.json"}', "bad.json:1:2: policies extend each other in a circle: bad.json → bad.json"),
    ('{"extends": "torch-cua"}', 'did you mean "torch-cuda"?'),
    ("{", "bad.json:1:2: this is not JSON"),
])
def test_a_wrong_policy_is_told_with_its_place(policy, castscope, text, said):
    (castscope.folder / "bad.json").write_text(text)
    told = policy("check", "torch-cpu", "bad.json")
    assert told.returncode == 2
    assert said in told.stderr
    assert "torch-cpu: understood" in told.stdout


def test_the_folder_of_the_shipped_policies_can_be_checked_whole(policy):
    files = sorted(str(path) for path in ROOT.glob("policies/*.json"))
    told = policy("check", *files)
    (schema,) = (file for file in files if file.endswith("policy.schema.json"))
    assert told.returncode == 0
    assert told.stderr == f"castscope: {schema}: this is a JSON Schema, not a policy: it is passed over\n"
    assert told.stdout.count(": understood") == len(files) - 1


def test_a_schema_alone_is_no_policy(policy):
    told = policy("check", ROOT / "policies/policy.schema.json")
    assert told.returncode == 2 and "there is no policy among these files" in told.stderr


@pytest.mark.parametrize("names, status", [(["torch-cpu", "bad.json"], 2), (["bad.json", "gone.json", "torch-cpu"], 3),
                                           (["gone.json", "bad.json"], 3)])
def test_of_several_policies_the_worst_counts_and_each_is_told(policy, castscope, names, status):
    (castscope.folder / "bad.json").write_text('{"operatrs": {}}')
    told = policy("check", *names)
    assert told.returncode == status
    assert all(f"{name}: understood" in told.stdout or f"castscope: {name}" in told.stderr for name in names)


def test_a_policy_that_is_not_there(policy):
    told = policy("explain", "none.json", "linear")
    assert (told.returncode, told.stdout) == (3, "")
    assert "none.json cannot be read: No such file or directory" in told.stderr


def test_a_wrong_command_line(policy):
    assert policy("from-run").returncode == 2
    assert policy("check", "-f", "xml", "torch-cpu").returncode == 2


def test_an_operator_that_is_not_there(policy):
    told = policy("explain", "torch-cpu", "linera")
    assert told.returncode == 2
    assert 'did you mean "linear"?' in told.stderr


def test_what_another_library_registered_is_not_known(policy):
    text = " ".join(policy("explain", "torch-cpu", "torchvision::roi_pool").stdout.split())
    assert "castscope does not know what torchvision registered with autocast itself" in text
    [told] = json.loads(policy("explain", "-f", "json", "torch-cpu", "torchvision::roi_pool").stdout)["explanations"]
    [known] = json.loads(policy("explain", "-f", "json", "torch-cpu", "tanh").stdout)["explanations"]
    assert (told["own_kernels_unknown"], known["own_kernels_unknown"]) == (True, False)
    assert "copysign" not in policy("explain", "torch-cpu", "roi_align").stderr


def test_the_error_that_is_quoted_stands_on_one_line(policy):
    assert "?" not in policy("explain", "torch-cuda", "F.binary_cross_entropy").stdout


def functions(policy, *asked):
    """Returns {function: [(the operators of a way, the one that decides, its cast policy, reached)]}."""
    [first, *_] = json.loads(policy("explain", "-f", "json", *asked).stdout)["explanations"]
    return {one["function_name"]: one["as_a_whole"] or [
        (way["operator_chain"], way["decided_by"], way["cast_policy"], way["reached"]) for way in one["ends_in"]]
        for one in first["functions"]}


def test_what_functions_end_in(policy):
    told = functions(policy, "apex-o1", "norm")
    for name in ("torch.norm", "Tensor.norm"):
        assert (["linalg_vector_norm.default"], "linalg_vector_norm.default", "fp32", True) in told[name]
        assert {way[2] for way in told[name]} == {"fp32"}
    text = " ".join(policy("explain", "torch-cpu", "torch.norm").stdout.split())
    assert "Tensor.norm" not in text
    assert "torch.norm: ends in" in text and "linalg_vector_norm (passthrough)" in text


def test_what_is_made_of_other_operators_is_followed_into_them(policy):
    told = functions(policy, "torch-cpu", "einsum")["torch.einsum"]
    assert (["einsum.default", "bmm.default"], "bmm.default", "lower_precision_fp", True) in told
    assert (["einsum.default", "mul.Tensor"], None, "passthrough", True) in told
    told = functions(policy, "torch-cuda", "einsum")["torch.einsum"]
    assert {way[1] for way in told} == {"einsum.default"}


def test_what_a_policy_does_not_reach(policy):
    told = functions(policy, "apex-o1", "exp")
    assert told["Tensor.exp"] == [(["exp.default"], "exp.default", "fp32", True)]
    assert told["Tensor.exp_"] == [(["exp_.default"], None, "passthrough", False)]
    assert told["torch.exp(out=)"] == [(["exp.out"], None, "passthrough", False)]
    text = " ".join(policy("explain", "apex-o1", "exp").stdout.split())
    assert "Tensor.exp_: not reached: exp_, which writes into an argument" in text


def test_functions_that_are_no_operator(policy):
    assert functions(policy, "apex-o1", "F.normalize")["torch.nn.functional.normalize"] == "float"
    assert functions(policy, "apex-o1", "interpolate")["torch.nn.functional.interpolate"] == "float"
    told = functions(policy, "torch-cuda", "normalize")["torch.nn.functional.normalize"]
    assert (["linalg_vector_norm.default"], "linalg_vector_norm.default", "fp32_set_opt_dtype", True) in told
    assert (["div.Tensor"], None, "passthrough", True) in told


def test_what_other_devices_do_with_one_operator(policy):
    [told] = json.loads(policy("explain", "-f", "json", "torch-cpu", "softmax").stdout)["explanations"]
    cuda = next(one for one in told["other_devices"] if one["device"] == "cuda")
    assert cuda == {"device": "cuda", "cast_policy": "fp32_set_opt_dtype", "given_lower_precision": "float32",
                    "given_float32": "float32"}
    text = " ".join(policy("explain", "torch-cpu", "softmax").stdout.split())
    assert ("Given lower precision, it gives float32 on cuda, mps, xpu and lower precision on cpu under PyTorch's own "
            "autocast: a run on cpu says nothing of its dtype there.") in text
    assert "says nothing" not in policy("explain", "torch-cpu", "linear").stdout


def test_a_policy_that_is_not_pytorchs_is_told_beside_pytorchs_of_its_device(policy):
    [told] = json.loads(policy("explain", "-f", "json", "ipex-xpu", "conv_transpose2d").stdout)["explanations"]
    assert told["pytorch_policy"] == {"device": "xpu", "cast_policy": "lower_precision_fp",
                                      "given_lower_precision": "lower_precision",
                                      "given_float32": "lower_precision"}
    assert "xpu" not in [one["device"] for one in told["other_devices"]]
    text = " ".join(policy("explain", "ipex-xpu", "conv_transpose2d").stdout.split())
    assert "PyTorch itself xpu: lower_precision_fp" in text
    assert "PyTorch itself" not in policy("explain", "torch-xpu", "conv_transpose2d").stdout


def test_what_an_operator_calls_stands_beside_its_own_decision(policy):
    for op, part in ("conv_transpose2d", "convolution"), ("einsum", "bmm"):
        text = " ".join(policy("explain", "ipex-xpu", op).stdout.split())
        assert (f"passthrough its arguments stay as they are, as outside autocast; but it is made of others, which are "
                f"not left alone: {part} (lower_precision_fp) because") in text
    assert "made of others" not in policy("explain", "torch-xpu", "fft_fft").stdout


def test_all_devices_side_by_side(policy):
    told = json.loads(policy("explain", "-f", "json", "softmax").stdout)["explanations"]
    assert {one["policy"]: one["cast_policy"] for one in told} == {
        "torch-cpu": "passthrough", "torch-cuda": "fp32_set_opt_dtype", "torch-xpu": "fp32_set_opt_dtype",
        "torch-mps": "fp32"}
    assert policy("explain", "sofmax").returncode == 2


def test_what_a_run_followed_is_what_pytorch_does(policy, castscope, python):
    (castscope.folder / "job.py").write_text("""
import torch
layer, norm = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    out = norm(layer(torch.randn(4, 8)))
    loss = torch.nn.functional.mse_loss(out, torch.zeros(4, 8)) + torch.cat([out, torch.ones(1, 8)]).sum()
loss.backward()
""")
    assert castscope.run(python, "job.py").returncode == 0
    told = policy("from-run", "run.castscope", "-o", "seen.json")
    assert (told.returncode, told.stderr) == (0, "")
    assert policy("check", "seen.json").returncode == 0
    assert "they decide alike" in policy("diff", "torch-cpu", "seen.json").stdout
    [linear] = json.loads(policy("explain", "-f", "json", "seen.json", "linear").stdout)["explanations"]
    assert linear["ruled_by"][0]["written_at"].startswith("seen.json:")
    again = policy("from-run", "run.castscope", "-o", "seen.json")
    assert again.returncode == 2 and "seen.json" in again.stderr
    assert policy("from-run", "run.castscope", "--device", "cuda").returncode == 3


def test_two_policies_are_compared(policy):
    same = policy("diff", "--exit-code", "torch-cpu", "torch-cpu")
    assert (same.returncode, "they decide alike" in same.stdout) == (0, True)
    told = policy("diff", "--exit-code", "torch-cpu", "torch-cuda")
    assert told.returncode == 1
    assert "device: cpu → cuda" in told.stdout
    changed = json.loads(policy("diff", "-f", "json", "torch-cpu", "torch-cuda").stdout)["operator_changes"]
    changes = {one["operator"]: (one["before"], one["after"]) for one in changed}
    assert changes["aten::softmax"] == ("passthrough", "fp32_set_opt_dtype")
    assert changes["aten::cat"] == ("promote", "passthrough")
    assert "aten::linear" not in changes


def test_two_policies_are_compared_by_what_code_calls(policy):
    told = json.loads(policy("diff", "-f", "json", "torch-cpu", "torch-cuda").stdout)
    changes = {one["function_name"]: (one["before"], one["after"]) for one in told["function_changes"]}
    assert changes["torch.nn.functional.binary_cross_entropy"] == changes["torch.nn.BCELoss"] == ("fp32", "banned")
    assert changes["torch.nn.Softmax"] == ("passthrough", "fp32_set_opt_dtype")
    assert not {"torch.mm", "torch.nn.Linear", "Tensor.exp_"} & set(changes)
    text = " ".join(policy("diff", "torch-cpu", "torch-cuda").stdout.split())
    assert "from Python: fp32 → banned (2) torch.nn.BCELoss, torch.nn.functional.binary_cross_entropy" in text


def test_layers_and_losses_are_explained(policy):
    for name in ("BCELoss", "nn.BCELoss", "torch.nn.BCELoss"):
        assert functions(policy, "torch-cuda", name) == {"torch.nn.BCELoss": [
            (["binary_cross_entropy.default"], "binary_cross_entropy.default", "banned", True)]}
    text = " ".join(policy("explain", "BCELoss").stdout.split())
    assert "BCELoss by torch-cpu from Python torch.nn.BCELoss: ends in binary_cross_entropy (fp32) " in text
    assert "ends in binary_cross_entropy (banned); it raises: torch.nn.functional.binary_cross_entropy and" in text
    assert functions(policy, "apex-o1", "nn.Softmin") == {"torch.nn.Softmin": "float"}
    assert policy("explain", "torch-cpu", "nn.LSTN").returncode == 2


def test_a_dtype_that_a_function_gives_itself(policy):
    """cross_entropy passes its own input's dtype to log_softmax, so no dtype can be set there."""
    told = functions(policy, "torch-cuda", "cross_entropy")["torch.nn.functional.cross_entropy"]
    assert (["cross_entropy_loss.default", "log_softmax.int", "_log_softmax.default"], "log_softmax.int", "passthrough",
            True) in told
    text = " ".join(policy("explain", "torch-cuda", "F.cross_entropy").stdout.split())
    assert "cross_entropy_loss>log_softmax.int (passthrough, given a dtype by the function itself)" in text


def test_recurrent_layers_are_explained_for_each_device(policy):
    cpu, cuda, xpu, mps = json.loads(policy("explain", "-f", "json", "nn.LSTM").stdout)["explanations"]
    [told] = cpu["functions"]
    assert {"operator_chain": ["lstm.input", "mkldnn_rnn_layer.default"], "decided_by": "mkldnn_rnn_layer.default",
            "cast_policy": "lower_precision_fp", "reached": True, "gives_dtype": False} in told["ends_in"]
    assert told["on_other_devices"] is None
    assert cuda["functions"][0]["on_other_devices"] == (
        "on CUDA: where cuDNN computes it, by _cudnn_rnn, whose own kernel of autocast casts input, state and weights "
        "to float16 whatever the region says: no rule names it; else by linear (lower_precision_fp) and "
        "_thnn_fused_lstm_cell (lower_precision_fp)")
    assert "mkldnn" not in json.dumps(cuda["functions"])
    assert xpu["functions"][0]["on_other_devices"].startswith("on XPU: by linear (lower_precision_fp)")
    assert mps["functions"][0]["on_other_devices"] == "on MPS: by _lstm_mps (passthrough)"
    assert {way[1] for way in functions(policy, "apex-o1", "nn.GRU")["torch.nn.GRU"]} == {"gru.input"}
    text = " ".join(policy("explain", "torch-cuda", "nn.GRU").stdout.split())
    assert "on CUDA: where cuDNN computes it" in text


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum"])
@pytest.mark.parametrize("asked", ["torch-cpu", "torch-cuda", "apex-o1", "fp32-everything"])
def test_what_out_does(policy, asked, name):
    told = functions(policy, asked, name)[f"torch.{name}(out=)"]
    assert told and all(decided is None and kind == "passthrough" and not reached for _, decided, kind, reached in told)
    text = " ".join(policy("explain", asked, name).stdout.split())
    assert f"torch.{name}(out=): not reached: {name}." in text and "into an argument" in text


JOB = """
import torch
layer, norm = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    norm(layer(torch.randn(4, 8)))
"""


def deviations(told):
    return {finding["title"] for finding in told["findings"] if finding["rule"] == "policy-deviation"}


def test_a_run_is_held_against_a_policy(policy, castscope, python):
    (castscope.folder / "job.py").write_text(JOB)
    (castscope.folder / "ours.json").write_text(
        '{"extends": "torch-cpu", "operators": {"passthrough": ["linear"]}, "modules": {"torch.nn.LayerNorm": "fp32"}}')
    assert castscope("run", "-o", "run", "--policy", "ours.json", "--", python, "job.py").returncode == 0
    found = deviations(castscope.report())
    assert found == {"linear casts to bfloat16 its bias, input, weight; ours.json says passthrough",
                     "layer_norm computes in bfloat16; ours.json says fp32"}
    # The file records the policy that it is compared with.
    (castscope.folder / "ours.json").unlink()
    assert castscope("check", "run.castscope").returncode == 1
    assert deviations(json.loads(castscope("report", "run.castscope").stdout)) == found
    # It can also be compared with another policy.
    assert castscope("check", "--policy", "torch-cpu", "run.castscope").returncode == 0
    assert castscope("check", "--policy", "fp32-everything", "run.castscope").returncode == 1


def test_a_run_by_pytorchs_own_policy_deviates_nowhere_and_nothing_is_told_of_it(castscope, python):
    (castscope.folder / "job.py").write_text(JOB)
    assert castscope("run", "-o", "run", "--policy", "torch-cpu", "--", python, "job.py").returncode == 0
    assert deviations(castscope.report()) == set()
    assert castscope.report()["run"]["notices"] == []


def test_a_policy_that_is_not_understood_starts_no_job(castscope, python):
    (castscope.folder / "bad.json").write_text('{"device": "cpu", "operators": {"fp32": ["sofmax"]}}')
    told = castscope("run", "--policy", "bad.json", "--", python, "-c", "open('ran', 'w')", text=True)
    assert told.returncode == 125
    assert 'bad.json:1:42: "sofmax" is not an operator' in told.stderr and "the job is not started" in told.stderr
    assert not (castscope.folder / "ran").exists()


def test_a_report_cannot_be_held_against_a_policy(castscope):
    told = castscope("check", "--policy", "torch-cpu", "run.json", text=True)
    assert told.returncode == 2 and "needs the run file" in told.stderr


def test_a_policy_of_another_device_is_told_to_say_nothing(castscope, python):
    (castscope.folder / "job.py").write_text(JOB)
    done = castscope("run", "-o", "run", "--policy", "torch-cuda", "--", python, "job.py", text=True)
    assert done.returncode == 0
    said = "the policy torch-cuda is for cuda, and autocast was used on cpu alone: it says nothing of this run"
    assert said in " ".join(done.stderr.split())
    assert said in castscope.report()["run"]["notices"]


def test_a_policy_of_another_device_changes_nothing(castscope, python):
    """Not even the cache changes; castscope's own cache would keep copies from region to region."""
    (castscope.folder / "job.py").write_text("""
import torch
model = torch.nn.Linear(32, 32)
for _ in range(5):
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        model(model(torch.randn(2, 32)))
""")
    totals = []
    (castscope.folder / "no-cache.json").write_text('{"extends": "torch-cuda", "cache": {"enabled": false}}')
    for options in ([], ["--enforce", "ipex-xpu"], ["--enforce", "no-cache.json"], ["--enforce", "torch-cpu"]):
        assert castscope("run", "--force", "-o", "run", *options, "--", python, "job.py").returncode == 0
        report = castscope.report()
        totals.append((report["totals"]["casts"], report["totals"]["cache_hits"],
                       report["cache"]["cache_peak_entries"]))
    assert totals[0] == totals[1] == totals[2] == (15, 10, 2)
    assert totals[3][0] < 15, "castscope's copies outlive a region"
