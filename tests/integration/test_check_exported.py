"""castscope check on files of torch.export, made by the PyTorch that is here."""

import json
import subprocess
import sys

import pytest

MAKES = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 4, 3)
        self.norm = torch.nn.BatchNorm2d(4)
        self.layer = torch.nn.Linear(4, 2)

    def features(self, x):
        return self.norm(self.convolution(x)).relu()  # line 12

    def forward(self, x):
        return self.layer(self.features(x).mean([2, 3]))

class InRegion(Net):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.layer(self.features(x).mean([2, 3]))

x = torch.randn(2, 3, 8, 8)
region = torch.autocast("cpu", dtype=torch.bfloat16)
with region:
    dropped = torch.export.export(Net().eval(), (x,), strict={strict})
torch.export.save(dropped, "dropped.pt2")
torch.export.save(torch.export.load("dropped.pt2"), "again.pt2")
torch.export.save(torch.export.export(InRegion().eval(), (x,), strict={strict}), "inside.pt2")
torch.export.save(torch.export.export(Net().eval(), (x,), strict={strict}), "plain.pt2")
torch.save(Net().state_dict(), "weights.pt")
"""


@pytest.fixture(scope="module", params=[False, True], ids=["not-strict", "strict"])
def made(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    (folder / "net.py").write_text(MAKES.format(strict=request.param))
    if request.param:
        (folder / "strict").touch()
    subprocess.run([sys.executable, "net.py"], cwd=folder, check=True, capture_output=True, timeout=300)
    return folder


@pytest.fixture
def strict(made):
    return (made / "strict").exists()


@pytest.fixture
def check(castscope, made):
    def run(file, *options):
        done = castscope("check", *options, made / file, text=True)
        return done.returncode, done
    return run


@pytest.mark.parametrize("file", ["dropped.pt2", "again.pt2"])
def test_a_region_around_the_export_is_a_finding_at_the_first_operator(check, strict, file):
    status, done = check(file, "--format", "json")
    assert status == 1, done.stderr
    (finding,) = json.loads(done.stdout)["failing_findings"]
    # Without strict=True torch.export records the lines of methods named forward, and no other.
    assert finding["rule"] == "export-drops-region" and finding["file"].endswith("net.py")
    assert finding["line"] == (12 if strict else 15)


@pytest.mark.parametrize("file", ["inside.pt2", "plain.pt2"])
def test_a_region_inside_and_none_at_all_are_clean(check, file):
    status, done = check(file)
    assert status == 0, done.stdout + done.stderr
    assert ('autocast("cpu", bfloat16)' in done.stdout) == (file == "inside.pt2")


def test_what_holds_no_program_is_told(check, made):
    status, done = check("weights.pt")
    assert status == 3 and "weights" in done.stderr
    (made / "cut.pt2").write_bytes((made / "dropped.pt2").read_bytes()[:1000])
    status, done = check("cut.pt2")
    assert status == 3 and "cut short or damaged" in done.stderr


MAKES_MORE = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x).float()  # line 10

class InRegion(Net):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.layer(x)
        return y.float()  # line 16

x = torch.randn(2, 8)
region = torch.autocast("cpu", dtype=torch.bfloat16)
with region:
    dropped = torch.export.export(Net().eval(), (x,))
for name, program in {
    "stops": dropped,
    "strict": torch.export.export(InRegion().eval(), (x,), strict=True),
    "loose": torch.export.export(InRegion().eval(), (x,), strict=False),
}.items():
    torch.export.save(program, f"{name}.pt2")
    try:
        torch.export.load(f"{name}.pt2").module()(x)
    except RuntimeError:
        print(name)
torch.export.save(torch.export.export(InRegion().eval(), (x,)).run_decompositions(), "apart.pt2")
torch._inductor.aoti_compile_and_package(torch.export.export(InRegion().eval(), (x,)), package_path="compiled.pt2")
"""


@pytest.fixture(scope="module")
def more(tmp_path_factory):
    folder = tmp_path_factory.mktemp("more")
    (folder / "net.py").write_text(MAKES_MORE)
    done = subprocess.run([sys.executable, "net.py"], cwd=folder, check=True, capture_output=True, timeout=300)
    return folder, done.stdout.decode().split()


def test_programs_that_stop_are_those_that_pytorch_stops(castscope, more):
    folder, stopped = more
    assert stopped == ["stops", "strict"]
    told = {}
    for name in ("stops", "strict", "loose"):
        done = castscope("check", "--format", "json", folder / f"{name}.pt2")
        told[name] = [(f["rule"], f["line"]) for f in json.loads(done.stdout)["failing_findings"]]
        assert bool(json.loads(done.stdout)["programs"][0]["stops"]) == (name in stopped)
    assert told == {"stops": [("export-drops-region", 10)], "strict": [("export-check-fails", 16)], "loose": []}


def test_what_was_taken_apart_is_told(castscope, more):
    done = castscope("check", "--format", "json", more[0] / "apart.pt2")
    assert done.returncode == 0
    (program,) = json.loads(done.stdout)["programs"]
    assert program["decomposed"] and program["taken_apart"]["node_count"] > 0
    assert {(row["operator"], row["computed_in"]) for row in program["operators"]} == {("aten::addmm", "bfloat16")}
    assert sum(row["weight_casts"] for row in program["cast_places"]) == 2


def test_compiled_code_cannot_be_checked(castscope, more):
    done = castscope("check", more[0] / "compiled.pt2", text=True)
    assert done.returncode == 3 and "holds compiled code and no program" in done.stderr


def test_options_of_runs_do_not_fit(check):
    status, done = check("dropped.pt2", "--max-cast-share", "5%")
    assert status == 2 and "--max-cast-share" in done.stderr


def test_a_comment_on_the_line_silences_it(castscope, tmp_path):
    (tmp_path / "net.py").write_text("""
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return x @ x  # castscope: ignore[export-drops-region] -- known

with torch.autocast("cpu", dtype=torch.bfloat16):
    torch.export.save(torch.export.export(Net(), (torch.randn(4, 4),)), "net.pt2")
""")
    subprocess.run([sys.executable, "net.py"], cwd=tmp_path, check=True, capture_output=True, timeout=300)
    done = castscope("check", "net.pt2", "--format", "json", text=True)
    assert done.returncode == 0 and json.loads(done.stdout)["ignored"]["in_code"] == 1, done.stdout
