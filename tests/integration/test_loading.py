"""The preload library where it does not load, or where others would be harmed by it: the job runs all the same."""

import pathlib
import re
import shutil
import subprocess

import pytest
from program import CAN_MOUNT, ROOT, clean_environment
from reports import read_report
from test_preload import HERE, seal

# For a program without agents: where the first python3 of PATH has PyTorch, an agent would be compiled for any job.
NO_COMPILER = {"CXX": "/bin/false"}
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
int main(int count, char** words) {
  (void)words;
  char* text = malloc(10);
  text[count] = '1';
  printf("hello %c\\n", text[count]);
  free(text);
  return 5;
}
"""


@pytest.fixture
def compiled(tmp_path):
    def compile_with(*compiler):
        (tmp_path / "program.c").write_text(PROGRAM)
        subprocess.run([*compiler, "program.c", "-o", "program"], cwd=tmp_path, check=True, env=clean_environment())
        return tmp_path / "program"
    return compile_with


def as_usual(done):
    return (done.returncode, done.stdout) == (5, b"hello 1\n")


@pytest.mark.parametrize("sanitizer", ["address", "undefined", "thread", "leak"])
def test_a_program_with_a_sanitizer_runs_as_usual(castscope, compiled, sanitizer):
    program = compiled("gcc", f"-fsanitize={sanitizer}")
    done = castscope.bare(program)
    assert as_usual(done) and done.stderr == b""
    assert as_usual(castscope.run(program))


def test_options_of_the_programs_own_go_before_ours(castscope, compiled):
    """What ASAN_OPTIONS says of the order of libraries is the user's wish."""
    done = castscope.bare(compiled("gcc", "-fsanitize=address"), env={"ASAN_OPTIONS": "verify_asan_link_order=1"})
    assert done.returncode == 1 and b"ASan runtime does not come first" in done.stderr


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="musl-tools is not installed")
def test_a_program_of_another_c_library_runs_as_usual(castscope, compiled):
    program = compiled("musl-gcc")
    done = castscope.bare(program)
    assert as_usual(done) and done.stderr == b""
    done = castscope.run(program)
    assert as_usual(done) and b"does not load" not in done.stderr


def lonely(folder, program, *command, **variables):
    """Runs a program that has nothing beside it."""
    environment = clean_environment(XDG_CACHE_HOME=folder / "cache", **variables)
    return subprocess.run([str(program), "run", "--force", "-o", "run", "--", *command], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)


@pytest.fixture
def alone(castscope, tmp_path):
    (tmp_path / "alone").mkdir()
    return shutil.copy2(castscope.program, tmp_path / "alone" / "castscope")


def test_a_library_that_asks_for_a_newer_glibc_is_kept_from_the_job(castscope, alone, tmp_path):
    library = castscope.preload.read_bytes()
    assert library.count(b"GLIBC_2.17\0") == 1
    content = alone.read_bytes()
    assert content.count(library) == 1
    alone.write_bytes(content.replace(library, library.replace(b"GLIBC_2.17\0", b"GLIBC_9.17\0")))
    done = lonely(tmp_path, alone, "sh", "-c", "echo out; env; exit 3", **NO_COMPILER)
    assert done.returncode == 3 and done.stdout.startswith(b"out\n")
    assert b"libcastscope" not in done.stdout  # no process of the job has it in LD_PRELOAD
    said = [line for line in done.stderr.splitlines() if line.startswith(b"castscope: ") and b"GLIBC_9.17" in line]
    assert len(said) == 1 and said[0].startswith(b"castscope: the preload library does not load into this job's")
    assert said[0].endswith(b"the job runs unobserved")
    assert any("GLIBC_9.17" in notice for notice in read_report(tmp_path / "run.json")["run"]["notices"])
    printed = subprocess.run([str(alone), "env"], env=clean_environment(XDG_CACHE_HOME=tmp_path / "cache"),
                             capture_output=True, timeout=300, check=False)
    assert printed.returncode == 3 and printed.stdout == b"" and b"GLIBC_9.17" in printed.stderr


@pytest.mark.parametrize("harm", ["empty", "cut short"])
def test_a_damaged_library_in_the_cache_is_written_anew(alone, tmp_path, harm):
    assert lonely(tmp_path, alone, "true", **NO_COMPILER).returncode == 0
    library = next((tmp_path / "cache").glob("castscope/*/libcastscope.so"))
    whole = library.read_bytes()
    library.write_bytes({"empty": b"", "cut short": whole[:8192]}[harm])
    done = lonely(tmp_path, alone, "sh", "-c", "echo $LD_PRELOAD", **NO_COMPILER)
    assert done.stdout.decode().strip() == str(library) and b"ERROR: ld.so" not in done.stderr
    assert library.read_bytes() == whole


@pytest.mark.skipif(not CAN_MOUNT, reason="file systems cannot be mounted here")
def test_a_cache_without_programs_is_passed_over(alone, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "spare").mkdir()
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o noexec tmpfs cache && "$@"', "sh",
         str(alone), "run", "-o", "run", "--", "sh", "-c", "echo $LD_PRELOAD"],
        cwd=tmp_path, env=clean_environment(XDG_CACHE_HOME=tmp_path / "cache", TMPDIR=tmp_path / "spare",
                                            **NO_COMPILER),
        stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0 and b"ERROR: ld.so" not in done.stderr
    assert done.stdout.decode().startswith(str(tmp_path / "spare"))


@pytest.mark.skipif(not CAN_MOUNT, reason="file systems cannot be mounted here")
def test_without_any_folder_for_programs_the_job_runs_unobserved(alone, tmp_path):
    """The program itself lies on a file system of its own."""
    work = "/opt" if not str(tmp_path).startswith("/opt") else "/srv"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c",
         f"mount -t tmpfs tmpfs {work} && cat > {work}/castscope && chmod 755 {work}/castscope && cd {work} && "
         "for folder in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o noexec tmpfs $folder; done && "
         f"exec {work}/castscope run -o run -- sh -c 'echo \"out $LD_PRELOAD\"; exit 4'"],
        input=alone.read_bytes(), capture_output=True, timeout=300, check=False,
        env=clean_environment(XDG_CACHE_HOME="/tmp/cache", HOME="/tmp/home"))
    assert (done.returncode, done.stdout) == (4, b"out \n")
    assert b"ERROR: ld.so" not in done.stderr
    assert re.search(rb"the preload library cannot be put in place: .*noexec.*; the job runs unobserved", done.stderr)


def test_a_damaged_agent_in_the_cache_is_not_used(castscope, python, alone, tmp_path):
    """It would kill the job as soon as a page is touched that the file no longer has."""
    assert lonely(tmp_path, alone, "true", **NO_COMPILER).returncode == 0
    folder = next((tmp_path / "cache").glob("castscope/*"))
    agent = next((castscope.program.parent / "agents").glob("castscope_agent-*.so"))
    (folder / agent.name).write_bytes(agent.read_bytes()[:200_000])
    code = "import torch\nwith torch.autocast('cpu'): torch.ones(2, 2) @ torch.ones(2, 2)\nprint('done')"
    done = lonely(tmp_path, alone, python, "-c", code, **NO_COMPILER)
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert b"is damaged: the job runs on unobserved" in done.stderr and b"cannot be built" in done.stderr
    shutil.copy2(agent, folder / agent.name)
    done = lonely(tmp_path, alone, python, "-c", code, **NO_COMPILER)
    assert done.returncode == 0 and read_report(tmp_path / "run.json")["totals"]["casts"] > 0


@pytest.mark.skipif(not CAN_MOUNT, reason="file systems cannot be mounted here")
def test_an_agent_in_a_cache_that_is_read_only_is_used(castscope, python, alone, tmp_path):
    """As in an image of a container that brings it, or a home folder that is mounted so on the nodes."""
    assert lonely(tmp_path, alone, "true", **NO_COMPILER).returncode == 0
    agent = next((castscope.program.parent / "agents").glob("castscope_agent-*.so"))
    shutil.copy2(agent, next((tmp_path / "cache").glob("castscope/*")) / agent.name)
    (tmp_path / "spare").mkdir()
    job = [python, "-c", "import torch\nwith torch.autocast('cpu'): torch.ones(2, 2) @ torch.ones(2, 2)"]
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", 'mount --bind cache cache && mount -o remount,ro,bind cache && "$@"', "sh",
         str(alone), "run", "-o", "from_there", "--enforce", "torch-cpu", "--", *job],
        cwd=tmp_path, env=clean_environment(XDG_CACHE_HOME=tmp_path / "cache", TMPDIR=tmp_path / "spare",
                                            **NO_COMPILER),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert read_report(tmp_path / "from_there.json")["totals"]["casts"] == 2


def test_an_agent_that_sees_nothing_is_found_out_before_the_job(castscope, python, alone, tmp_path):
    """It has the right name and loads, as one of a build that only looks like this PyTorch would."""
    assert lonely(tmp_path, alone, "true", **NO_COMPILER).returncode == 0
    folder = next((tmp_path / "cache").glob("castscope/*"))
    name = next((castscope.program.parent / "agents").glob("castscope_agent-*.so")).name
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{ROOT}", HERE / "fake_agent.c", "-o", folder / name], check=True)
    seal(folder / name)
    code = "import torch\nwith torch.autocast('cpu'): torch.ones(2, 2) @ torch.ones(2, 2)\nprint('done')"
    done = lonely(tmp_path, alone, python, "-c", code)
    assert (done.returncode, done.stdout) == (0, b"done\n")
    said = next(line for line in done.stderr.splitlines() if b"self-test" in line)
    assert re.fullmatch(rb"castscope: the agent for PyTorch \S+ cannot be used: it fails its self-test: nothing was "
                        rb"seen; the job runs unobserved", said)
    again = lonely(tmp_path, alone, python, "-c", "")
    assert b"testing the agent" in done.stderr and b"testing the agent" not in again.stderr
    assert b"it fails its self-test" in again.stderr and b"`castscope doctor --build` tests it again" in again.stderr



@pytest.fixture
def another_torch(python, tmp_path):
    """The installed PyTorch once more, as links, in a folder that goes before it in the module path."""
    installed = subprocess.run([python, "-c", "import importlib.util as u; print(u.find_spec('torch').origin)"],
                               capture_output=True, text=True, check=True).stdout.strip()
    folder = tmp_path / "modules"
    folder.mkdir()
    subprocess.run(["cp", "-rs", pathlib.Path(installed).parent, folder / "torch"], check=True)
    return folder / "torch"


WORK = "import torch\nwith torch.autocast('cpu'): torch.ones(2, 2) @ torch.ones(2, 2)\nprint('done')"


def test_a_pytorch_that_lies_about_its_version_is_counted_exactly(castscope, python, another_torch):
    """The agent is found by the build of its library, not by what its Python files say."""
    version = (another_torch / "version.py").read_text()
    (another_torch / "version.py").unlink()
    (another_torch / "version.py").write_text(re.sub(r"__version__ = .*", "__version__ = '1.2.3'", version))
    done = castscope.run(python, "-c", WORK, env=clean_environment(PYTHONPATH=another_torch.parent))
    assert (done.returncode, done.stdout) == (0, b"done\n") and castscope.report()["totals"]["casts"] == 2


def test_a_half_installed_pytorch_costs_a_sentence(castscope, python, another_torch):
    (another_torch / "lib" / "libc10.so").unlink()
    done = castscope.run(python, "-c", "print('done')", env=clean_environment(PYTHONPATH=another_torch.parent))
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert b"has no libtorch_cpu.so and libc10.so: `castscope doctor` tells more" in done.stderr


def test_headers_of_another_version_are_not_compiled_against(alone, python, another_torch, tmp_path):
    header = another_torch / "include/torch/headeronly/version.h"
    if not header.exists():
        header = another_torch / "include/torch/csrc/api/include/torch/version.h"
    text = header.read_text()
    header.unlink()
    header.write_text(re.sub(r"define TORCH_VERSION_MINOR \d+", "define TORCH_VERSION_MINOR 1", text))
    done = lonely(tmp_path, alone, python, "-c", "print('done')", PYTHONPATH=another_torch.parent)
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert re.search(rb"cannot be built: the headers in .* are those of PyTorch 2.1, not of 2.", done.stderr)
