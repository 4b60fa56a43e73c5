"""Where things stand: lines, regions, modules and steps of jobs that do not look like the usual one."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASTSCOPE = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", ROOT / "build")) / "castscope"


@pytest.fixture
def run(tmp_path):
    def of(program, **environment):
        script = tmp_path / "job.py"
        script.write_text("import torch\n" + textwrap.dedent(program))
        done = subprocess.run([CASTSCOPE, "run", "-o", tmp_path / "run", "--", sys.executable, script], check=False,
                              capture_output=True, text=True, timeout=300, env=os.environ | environment)
        assert done.returncode == 0, done.stderr
        return json.loads((tmp_path / "run.json").read_text())
    return of


def line(location):
    return location and location["line"]


def regions(report):
    return [(region["kind"], line(region["location"])) for region in report["regions"]]


def test_pytorch_in_another_folder_is_not_the_users_code(run, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "torch").symlink_to(pathlib.Path(__import__("torch").__file__).parent)
    report = run("""\
        net = torch.nn.Linear(4, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            net(torch.randn(3, 4))
        """, PYTHONPATH=str(tmp_path / "elsewhere"))
    assert {line(site["location"]) for site in report["sites"]} == {4}
    assert regions(report) == [("context", 3)]
