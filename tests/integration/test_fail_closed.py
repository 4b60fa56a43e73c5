"""A policy that cannot be carried out: the job is not started, or the process that loads PyTorch ends."""

import json
import shutil
import subprocess

import pytest
from program import ROOT, clean_environment
from test_preload import HERE, seal

JOB = """
print("before")
import torch
with torch.autocast("cpu", torch.bfloat16):
    torch.nn.Linear(4, 4)(torch.randn(2, 4))
print("after")
"""


@pytest.fixture
def job(castscope):
    (castscope.folder / "job.py").write_text(JOB)
    return "job.py"


@pytest.fixture
def enforcing(castscope, tmp_path):
    """Runs the program as if it were copied to another machine: it has no agent, and no compiler to build one."""
    (tmp_path / "lonely").mkdir()
    shutil.copy2(castscope.program, tmp_path / "lonely" / "castscope")

    def run(*arguments, before=("run", "-o", "run", "--force", "--enforce", "torch-cpu"), **variables):
        environment = clean_environment(XDG_CACHE_HOME=tmp_path / "cache", CXX="/bin/false", **variables)
        return subprocess.run([str(tmp_path / "lonely" / "castscope"), *before, *map(str, arguments)], cwd=tmp_path,
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
                              check=False)
    return run


def with_a_library_of_a_newer_glibc(castscope, folder):
    program = folder / "lonely" / "castscope"
    library = castscope.preload.read_bytes()
    program.write_bytes(program.read_bytes().replace(library, library.replace(b"GLIBC_2.17\0", b"GLIBC_9.17\0")))


def with_an_agent_that_sees_nothing(castscope, folder):
    subprocess.run([folder / "lonely" / "castscope", "run", "-o", "x", "--", "true"], cwd=folder, check=True,
                   env=clean_environment(XDG_CACHE_HOME=folder / "cache", CXX="/bin/false"), capture_output=True)
    name = next((castscope.program.parent / "agents").glob("castscope_agent-*.so")).name
    agent = next((folder / "cache").glob("castscope/*")) / name
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{ROOT}", HERE / "fake_agent.c", "-o", agent], check=True)
    seal(agent)


@pytest.mark.parametrize(("why", "variables", "prepare"), [
    ("CASTSCOPE_OFF is set", {"CASTSCOPE_OFF": "1"}, None),
    ("the agent for PyTorch ", {}, None),
    ("the preload library does not load into this job's processes (", {}, with_a_library_of_a_newer_glibc),
    ("the agent for PyTorch ", {}, with_an_agent_that_sees_nothing),
])
def test_a_job_without_what_carries_its_policy_out_is_not_started(castscope, enforcing, job, python, tmp_path, why,
                                                                  variables, prepare):
    if prepare:
        prepare(castscope, tmp_path)
    done = enforcing("--", python, job, **variables)
    assert (done.returncode, done.stdout) == (125, "")
    assert f"castscope: {why}" in done.stderr
    assert "the policy torch-cpu cannot be enforced, and the job is not started; with --enforce-if-" in done.stderr
    assert not list(castscope.folder.glob("run.*"))

    done = enforcing("--enforce-if-possible", "--", python, job, **variables)
    assert (done.returncode, done.stdout) == (0, "before\nafter\n")
    assert "the job runs unobserved, without the policy torch-cpu" in done.stderr
    run = castscope.report()["run"]
    assert (run["enforced_policy"], run["observed"], run["complete"]) == (None, False, False)
    assert any(why in notice and "without the policy torch-cpu" in notice for notice in run["notices"])


def test_apexs_lists_are_a_policy_too(enforcing, job, python):
    done = enforcing("--apex", "--", python, job, before=["run"], CASTSCOPE_OFF="1")
    assert done.returncode == 125 and "the policy apex-o1-any cannot be enforced" in done.stderr


@pytest.mark.parametrize("launcher", ["sh -c", "env"])
def test_a_process_that_is_met_inside_the_job_ends(castscope, enforcing, job, python, launcher):
    """A shell hides which Python it starts. The script's output until then is kept, and the report tells of the end."""
    command = (["sh", "-c", f"'{python}' {job}; echo $?"] if launcher == "sh -c" else
               ["sh", "-c", f"exec env '{python}' {job}"])
    done = enforcing("--", *command)
    assert done.stdout == ("before\n125\n" if launcher == "sh -c" else "before\n")
    assert done.returncode == (0 if launcher == "sh -c" else 125)
    assert "this process ends before PyTorch's first operator, with status 125" in done.stderr
    run = castscope.report()["run"]
    assert run["observed"] is False and run["complete"] is False
    assert any("the policy of --enforce cannot be carried out" in notice for notice in run["notices"])
    done = enforcing("--enforce-if-possible", "--", *command)
    assert done.stdout.startswith("before\nafter\n") and done.returncode == 0
    assert "the job runs on unobserved, without the policy that was to be enforced" in done.stderr


def test_bare_variables_end_it_too(enforcing, job, python):
    for option, out in (([], "before\n125\n"), (["--enforce-if-possible"], "before\nafter\n0\n")):
        variables = enforcing(*option, "--", python, before=["env", "--enforce", "torch-cpu"])
        assert variables.returncode == 0 and "the policy" in variables.stderr
        done = subprocess.run(["bash", "-c", f"{variables.stdout}\n'{python}' {job}; echo $?"], env=clean_environment(),
                              cwd=enforcing("--", "true").args[0].rsplit("/", 2)[0], capture_output=True, text=True,
                              check=False)
        assert done.stdout == out, done.stderr


@pytest.mark.parametrize("spoil", ["rm", "truncate -s 30", "chmod 0"])
def test_a_policy_that_cannot_be_read_ends_the_process(castscope, job, python, spoil):
    if spoil == "chmod 0":
        spoil = "chmod 0 $CASTSCOPE_ENFORCE; CASTSCOPE_ENFORCE=/proc/1/mem; true"  # root reads all files but such
    command = ["sh", "-c", f"{spoil} $CASTSCOPE_ENFORCE; '{python}' {job}; echo $?"]
    done = castscope("run", "-o", "run", "--force", "--enforce", "torch-cpu", "--", *command, text=True)
    assert done.stdout == "before\n125\n" and "the policy of --enforce cannot be carried out" in done.stderr
    done = castscope("run", "-o", "run", "--force", "--enforce", "torch-cpu", "--enforce-if-possible", "--", *command,
                     text=True)
    assert done.stdout == "before\nafter\n0\n"
    assert castscope.report()["run"]["enforced_policy"] is None and castscope.report()["run"]["observed"] is True


def test_a_process_that_is_switched_off_has_nothing_of_the_policy(castscope, python):
    """Neither its functions, nor the mark by which PyTorch keeps compiled graphs of this policy apart."""
    (castscope.folder / "models.py").write_text("import torch\ndef attend(x):\n    return x.dtype\n")
    (castscope.folder / "policy.json").write_text(json.dumps({"extends": "torch-cpu",
                                                              "functions": {"models:attend": "half"}}))
    code = ("import os, torch, models\nwith torch.autocast('cpu', torch.bfloat16): print(models.attend(torch.ones(2)), "
            "os.environ.get('TORCH_COMPILE_CACHE_KEY_TAG'), 'CASTSCOPE_ENFORCE' in os.environ)")
    command = ["sh", "-c", f"'{python}' -c \"{code}\"; CASTSCOPE_OFF=1 '{python}' -c \"{code}\""]
    environment = clean_environment(TORCH_COMPILE_CACHE_KEY_TAG="mine-")
    done = castscope("run", "-o", "run", "--enforce", "policy.json", "--", *command, text=True, env=environment)
    first, second = done.stdout.splitlines()
    assert first.startswith("torch.bfloat16 mine-castscope-") and first.endswith(" True")
    assert second == "torch.float32 mine- False"


def test_a_python_that_lost_the_library_ends(castscope, job, python):
    lost = ["env", "-u", "LD_PRELOAD"]
    done = castscope("run", "-o", "run", "--force", "--enforce", "torch-cpu", "--", *lost, python, job, text=True)
    assert (done.returncode, done.stdout) == (125, "before\n") and "LD_PRELOAD was taken out" in done.stderr
    run = castscope.report()["run"]
    assert run["complete"] is False and any("LD_PRELOAD was taken out" in notice for notice in run["notices"])
    for more in (["--enforce-if-possible", "--", *lost], ["--", *lost, "CASTSCOPE_OFF=1"], ["--", "env"]):
        done = castscope("run", "-o", "run", "--force", "--enforce", "torch-cpu", *more, python, job, text=True)
        assert (done.returncode, done.stdout) == (0, "before\nafter\n"), more


def test_runs_that_may_go_without_share_no_compiled_graphs(castscope):
    command = ["--enforce-if-possible", "--enforce", "torch-cpu", "--", "printenv", "TORCH_COMPILE_CACHE_KEY_TAG"]
    tags = {castscope("run", "-o", name, *command, text=True).stdout for name in ("one", "two")}
    assert len(tags) == 2 and all(tag.startswith("castscope-") for tag in tags)


def test_the_option_goes_with_a_policy(castscope):
    done = castscope("run", "--enforce-if-possible", "--", "true", text=True)
    assert done.returncode == 125 and "goes with --enforce or --apex" in done.stderr
    assert castscope("env", "--enforce-if-possible").returncode == 2
