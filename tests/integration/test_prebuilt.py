"""A program that carries agents, as a released one does: where a job runs no compiler is needed."""

import re
import shutil
import subprocess

import native
import pytest
from program import Castscope, clean_environment
from reports import read_report
from test_faults import compilers

SECTION = ".castscope.agents"
WORK = "import torch\nwith torch.autocast('cpu'): torch.ones(2, 2) @ torch.ones(2, 2)\nprint('done')"


def with_agents(program, archive, output):
    """Puts the archive into the program, as shipping/ShipProgram.cmake does."""
    subprocess.run(["objcopy", "--add-section", f"{SECTION}={archive}", "--set-section-flags",
                    f"{SECTION}=noload,readonly", program, output], check=True)
    return output


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive")
    done = Castscope(folder)("pack-agent", "--torch", native.torch_folder(), "--archive", "agents",
                             env=clean_environment(**compilers()))
    assert done.returncode == 0, done.stderr
    assert re.search(rb"PyTorch \S+, build [0-9a-f]+: 0\.[0-9]+ MB", done.stderr)
    return folder / "agents"


def of_other_sources(archive, folder):
    other = re.sub(rb'"source_hash":"[0-9a-f]{16}"', b'"source_hash":"0123456789abcdef"', archive.read_bytes())
    (folder / "other").write_bytes(other)
    return folder / "other"


def run(folder, program, *command, **variables):
    environment = clean_environment(XDG_CACHE_HOME=folder / "cache", CXX="/bin/false", **variables)
    return subprocess.run([str(program), "run", "--force", "-o", "run", "--", *command], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)


def test_a_program_with_agents_needs_no_compiler(castscope, python, archive, tmp_path):
    program = with_agents(castscope.program, archive, tmp_path / "castscope")
    subprocess.run(["strip", program], check=True)  # as a distribution does
    done = run(tmp_path, program, python, "-c", WORK)
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert b"building" not in done.stderr and b"testing the agent" in done.stderr
    assert read_report(tmp_path / "run.json")["totals"]["casts"] == 2
    assert b"testing the agent" not in run(tmp_path, program, python, "-c", WORK).stderr


def test_agents_of_another_castscope_are_passed_over(castscope, python, archive, tmp_path):
    program = with_agents(castscope.program, of_other_sources(archive, tmp_path), tmp_path / "castscope")
    done = run(tmp_path, program, python, "-c", WORK)
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert b"cannot be built" in done.stderr


def test_a_damaged_agent_is_not_unpacked(castscope, python, archive, tmp_path):
    content = bytearray(archive.read_bytes())
    content[-1000] ^= 1
    (tmp_path / "damaged").write_bytes(content)
    program = with_agents(castscope.program, tmp_path / "damaged", tmp_path / "castscope")
    done = run(tmp_path, program, python, "-c", WORK)
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert re.search(rb"the agent that castscope carries for PyTorch \S+ cannot be used: ", done.stderr)
    assert b"cannot be built" in done.stderr


def test_an_archive_takes_one_agent_for_each_pytorch(castscope, archive, tmp_path):
    copy = shutil.copy2(archive, tmp_path / "agents")
    done = castscope("pack-agent", "--torch", native.torch_folder(), "--archive", copy,
                     env=clean_environment(**compilers()))
    assert done.returncode == 0 and copy.read_bytes() == archive.read_bytes()  # the same bytes each time
    done = castscope("pack-agent", "--archive", copy)
    assert (done.returncode, done.stderr.count(b"an agent for PyTorch ")) == (0, 1)
    done = castscope("pack-agent", "--archive", of_other_sources(archive, tmp_path))
    assert done.returncode == 3 and b"are of other sources than this castscope" in done.stderr
    done = castscope("pack-agent", "--torch", tmp_path, "--archive", copy)
    assert done.returncode == 2 and b"has no libtorch_cpu.so and libc10.so" in done.stderr
