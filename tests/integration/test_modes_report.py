"""The report's section `modes`: the dtypes that a job computed in by mode, its comparisons, its compilations."""

import json
import re
import sys

import pytest
from reports import read_report

NET = """
import torch
import torch.nn.functional as F

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return F.gelu(self.linear(x))
"""
LINE = 11

EVERY_MODE = NET + """
import warnings
warnings.simplefilter("ignore")
net, x = Net().eval(), torch.randn(4, 8)
script, trace = torch.jit.script(Net().eval()), torch.jit.trace(Net().eval(), (x,))
compiled = torch.compile(Net().eval(), backend="aot_eager")
program = torch.export.export(net, (x,))
torch.export.save(program, "model.pt2")
exported = torch.export.load("model.pt2").module()
with torch.no_grad():
    for _ in range(3):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for run in (net, script, trace, compiled):
                run(x)
        exported(x)
"""

COMPARES = NET + """
import castscope
with torch.autocast("cpu", dtype=torch.bfloat16):
    found = castscope.compare(Net(), (torch.randn(4, 8),), ["script", "export"])
open("told.json", "w").write(__import__("json").dumps(found.to_json()))
def kept(*values):
    return values
castscope.compare(kept, (torch.ones(2),), ["script"], name="<kept>")
"""

RECOMPILES = """
import torch

@torch.compile(backend="eager", dynamic=False)
def product(a):
    return a @ a

for n in (2, 3, 4, 2):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        product(torch.ones(n, n))
"""


@pytest.fixture
def modes(castscope, tmp_path):
    """Runs a script. Returns the section, and the page."""

    def run(source):
        (tmp_path / "job.py").write_text(source)
        done = castscope("run", "--deep", "always", "-o", "run", "--", sys.executable, "job.py", text=True)
        assert done.returncode == 0, done.stderr
        page = castscope("report", "-f", "html", "run.castscope", text=True)
        assert page.returncode == 0, page.stderr
        return read_report(tmp_path / "run.json"), page.stdout
    return run


def cells(page, heading):
    """Returns the rows of the table below a heading as lists of texts."""
    table = page[re.search(rf"<h\d[^>]*>{re.escape(heading)}</h", page).start():]  # a box of the graph may be called so
    table = table[table.index("<table"):table.index("</table>")]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in rows]


def test_each_mode_has_a_column(modes):
    report, page = modes(EVERY_MODE)
    rows = {row["shared_operator"]: row for row in report["operators_by_mode"]}
    assert {row["location"]["line"] for row in rows.values()} == {LINE}
    assert rows["linear"]["dtypes_by_mode"] == {"eager": ["bfloat16"], "script": ["bfloat16"], "trace": ["bfloat16"],
                                             "compile": ["bfloat16"], "export": ["float32"]}
    assert rows["gelu"]["dtypes_by_mode"] == {"eager": ["bfloat16"], "script": ["float32"], "trace": ["float32"],
                                           "compile": ["bfloat16"], "export": ["float32"]}
    assert rows["linear"]["differs"] and rows["gelu"]["differs"]
    head, *body = cells(page, "Modes")
    assert head == ["where", "operator", "eager", "script", "trace", "compile", "export", "alike"]
    assert [f"job.py:{LINE}", "linear", "bfloat16", "bfloat16", "bfloat16", "bfloat16", "float32", "differs"] in body
    assert {(finding["rule"], finding["location"]["line"]) for finding in report["findings"]
            if finding["rule"].endswith("-dtype-differs")} == {("script-dtype-differs", LINE),
                                                               ("export-dtype-differs", LINE)}


def test_what_the_job_compares_is_in_its_report(modes, tmp_path):
    report, page = modes(COMPARES)
    net, kept = report["comparisons"]
    (told,) = json.loads((tmp_path / "told.json").read_text())["comparisons"]
    assert net["compared_function"] == "Net" and not net["same_precision"] and net["left_out_count"] == 0

    def verdicts(comparison):
        return [(row["shared_operator"], row["location"]["line"],
                 {mode: cell["verdict"] for mode, cell in row["by_mode"].items()}) for row in comparison["operators"]]

    assert verdicts(net) == verdicts(told)
    addmm = net["operators"][0]["by_mode"]
    assert {mode: cell["computed_in"] for mode, cell in addmm.items()} == {"eager": "bfloat16", "script": "bfloat16",
                                                                        "export": "float32"}
    assert addmm["export"]["reason"].startswith("the autocast region around the call")
    (mode,) = kept["modes"]
    assert kept["compared_function"] == "<kept>"
    assert mode["error"]["error_summary"] and mode["error"]["location"]["file"]
    head, *body = cells(page, "Net")
    assert head == ["where", "operator", "eager", "script", "export", "why"]
    assert [row[:5] for row in body] == [[f"job.py:{LINE}", "addmm", "bfloat16", "bfloat16", "float32 !"],
                                         [f"job.py:{LINE}", "gelu", "bfloat16", "float32 !", "float32 ~"]]
    assert "&lt;kept&gt;" in page and "<kept>" not in page


def test_what_was_compiled_and_why_again(modes):
    report, page = modes(RECOMPILES)
    (product,) = report["compilations"]
    assert product["compiled_code"] == "product (job.py:4)" and product["times"] == 3
    assert (product["called_at"]["file"].rpartition("/")[2], product["called_at"]["line"]) == ("job.py", 10)
    assert sum(again["times"] for again in product["recompilations"]) == 2
    assert all("size" in again["guard"] for again in product["recompilations"]), product
    assert cells(page, "Compiled code")[1][:3] == ["product (job.py:4)", "job.py:10", "3"]
