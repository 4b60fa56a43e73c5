"""Graphs that run as Python code which torch.fx wrote: casts are at the lines that the graph was made from.
torch.export remembers only the frames of the modules' forward methods."""

import collections

import pytest
from reports import casts_by_cause

NET = """\
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = torch.relu(x)
            return self.layer(y)
net, x = Net().eval(), torch.randn(3, 4)
"""
LINE = 9  # of the text; the fixture puts `import torch` before
MAKE = {
    "exported": ("torch.export.export(net, (x,)).module()", "<exported program>"),
    "loaded": ("saved(torch.export.export(net, (x,))).module()", "<exported program>"),
    "eager backend": ("torch.compile(net, backend='eager')", "<compiled graph>"),
    "exported, then compiled": ("torch.compile(torch.export.export(net, (x,)).module(), backend='eager')",
                                "<compiled graph>"),
}


@pytest.mark.parametrize(("make", "graph"), MAKE.values(), ids=MAKE)
@pytest.mark.job(NET + """
def saved(program):
    import io
    file = io.BytesIO()
    torch.export.save(program, file)
    return torch.export.load(file)
graph = {make}
with torch.no_grad():
    for _ in range(2):
        graph(x)  # the call
""")
def test_a_cast_has_the_line_of_the_code_and_of_the_call(report, make, graph):
    sites = [site for site in report["sites"] if site["cause"] == "autocast" and site["casts"] > 0]
    assert {(site["location"]["line"], site["location"]["function"]) for site in sites} == {(LINE, "forward")}
    assert {site["argument"] for site in sites} == {"input", "weight", "bias"}
    assert sum(site["casts"] for site in sites) == 2 * 3
    for site in sites:
        frames = [frame.rpartition("/")[2] for frame in site["stack"]]
        graphs = [at for at, frame in enumerate(frames) if frame.startswith(graph)]
        assert graphs and frames[-1].endswith("<module>"), site["stack"]
        assert len([frame for frame in frames if frame == f"job.py:{LINE} forward"]) == 1, site["stack"]


@pytest.mark.job(NET + """
program = torch.export.export(net, (x,)).run_decompositions().module()
with torch.no_grad():
    for _ in range(4):
        program(x)
torch.ops.aten._to_copy.default(x, dtype=torch.bfloat16)
""")
def test_a_program_that_was_taken_apart_casts_by_operators_of_its_own(report):
    assert casts_by_cause(report) == {"user_to": 4 * 3 + 1}
    # A program that was taken apart remembers no lines for the operators of a region: they are at its call.
    casts = collections.Counter()
    for site in report["sites"]:
        casts[site["location"]["line"]] += site["casts"]
    assert casts == {15: 4 * 3, 16: 1}


@pytest.mark.job("""\
        net = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(4, 4)))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            net(torch.randn(3, 4))
        """)
def test_a_graph_that_remembers_no_lines_stands_at_its_call(report):
    assert {site["location"]["line"] for site in report["sites"]} == {4}
