"""castscope compare on whole models, checked against what their graphs and eager runs are known to do."""

import json
import pathlib
import subprocess
import sys
import time

import pytest
import runs

MODELS = '''
import sys
sys.path.insert(0, {workloads!r})
import torch, castscope
from plain_models import bert, resnet

class InRegion(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.model(x)

model, inputs = {model}()
castscope.entry(inputs=lambda: (inputs,), name={model!r})({wrapper})
'''


def compared(tmp_path, model, wrapper="InRegion(model)", region=False):
    text = MODELS.format(workloads=str(runs.WORKLOADS), model=model, wrapper=wrapper)
    (tmp_path / "models.py").write_text(text)
    begin = time.monotonic()
    done = subprocess.run([runs.CASTSCOPE, "compare", "--format", "json", "--", sys.executable, "models.py"],
                          cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    print(f"{model}: {time.monotonic() - begin:.0f} s")
    (comparison,) = json.loads(done.stdout)["comparisons"]
    return comparison, {mode["mode"]: mode for mode in comparison["modes"]}


def line(place):
    return pathlib.Path(place["file"]).name, place["line"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return compared(tmp_path_factory.mktemp("bert"), "bert")


def test_bert_says_what_keeps_it_from_being_scripted(bert):
    error = bert[1]["script"]["error"]
    file, number = line(error["location"])
    assert file == "modeling_bert.py"
    source = pathlib.Path(error["location"]["file"]).read_text().splitlines()[number - 1]
    assert source.strip() == "self.config = config" and "BertConfig" in error["error_summary"]


def test_bert_computes_the_same_traced_and_compiled(bert):
    """The model's region is inside it: trace and compile keep the region, operator by operator."""
    comparison, modes = bert
    eager = [row for row in comparison["operators"] if "eager" in row["by_mode"]]
    for mode in ("trace", "compile"):
        assert modes[mode]["error"] is None and not modes[mode]["differences"]
        assert modes[mode]["same_count"] == len(eager) > 30


def test_bert_exported_promotes_its_attention(bert):
    """The exported program has the mask as a float32 tensor, and eager has none: scores + mask is float32 there."""
    comparison, modes = bert
    differ = [comparison["operators"][difference["row"]] for difference in modes["export"]["differences"]]
    assert [row["shared_operator"] for row in differ] == ["softmax", "softmax"]
    for row in differ:
        results = [row["by_mode"][mode]["result_dtype"] for mode in ("eager", "export")]
        assert results == ["bfloat16", "float32"]
    alone = [comparison["operators"][row]["shared_operator"] for row in modes["export"]["not_comparable_rows"]]
    assert sorted(alone) == ["add", "add", "where"]


def test_a_resnet_goes_through_all_five(tmp_path):
    comparison, modes = compared(tmp_path, "resnet", "model")
    assert not any(mode["error"] for mode in modes.values())
    eager = [row for row in comparison["operators"] if "eager" in row["by_mode"]]
    for mode in ("script", "trace", "compile", "export"):  # float32 throughout: there is no region
        assert modes[mode]["same_count"] == len(eager) == 22 and not modes[mode]["not_comparable_rows"]
    assert comparison["same_precision"] is True
