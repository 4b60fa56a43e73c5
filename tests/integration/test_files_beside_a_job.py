"""Files that castscope finds or is given: none may hold a job up, and a stranger's does not count."""

import json
import os
import shutil
import sys

import pytest
from program import BUILD, clean_environment

# Whoever opens a pipe to read it waits for a writer, and here there is none.
MOST_S = 100

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
STRANGER = 12345


@pytest.fixture
def pipe(castscope):
    path = castscope.folder / "pipe.json"
    os.mkfifo(path, 0o600)
    return path


def words(done):
    return " ".join(done.stderr.split())


@pytest.mark.parametrize("given", [["CASTSCOPE_CA=pipe.json"], ["--ca", "pipe.json"]])
def test_a_job_runs_unrecorded_where_a_pipe_is_to_be_the_authorities_of_a_collector(castscope, pipe, given):
    """A collector that cannot be reached is no reason not to run, and neither is one that cannot be known."""
    variables = dict(one.split("=") for one in given if "=" in one)
    options = [one for one in given if "=" not in one]
    done = castscope("run", "--collector", "127.0.0.1:1", *options, "--", "echo", "it ran", text=True, timeout=MOST_S,
                     env=clean_environment(**variables))
    assert done.returncode == 0 and done.stdout == "it ran\n"
    assert "pipe.json: it is no ordinary file; the job goes on unrecorded" in words(done)


@pytest.mark.parametrize("given", [
    ["CASTSCOPE_CERT=pipe.json", "CASTSCOPE_KEY=pipe.json"], ["CASTSCOPE_TOKEN_FILE=pipe.json"],
    ["--token-file", "pipe.json"],
])
def test_a_pipe_that_is_to_lead_to_a_collector_is_refused_before_the_job(castscope, pipe, given):
    variables = dict(one.split("=") for one in given if "=" in one)
    options = [one for one in given if "=" not in one]
    done = castscope("run", "--collector", "127.0.0.1:1", *options, "--", "echo", "it ran", text=True, timeout=MOST_S,
                     env=clean_environment(**variables))
    assert done.returncode == 125 and done.stdout == "" and "pipe.json" in words(done)


@pytest.mark.parametrize("option", ["--config", "--policy", "--enforce"])
def test_a_pipe_for_a_file_that_was_named_is_refused_before_the_job(castscope, pipe, option):
    done = castscope("run", option, "pipe.json", "--", "echo", "it ran", text=True, timeout=MOST_S)
    assert done.returncode == 125 and done.stdout == "" and "ordinary file" in words(done)


def test_a_job_runs_whatever_pipes_castscope_finds(castscope):
    git = castscope.folder / ".git"
    git.mkdir()
    os.mkfifo(castscope.folder / "castscope.json")
    for name in ("HEAD", "config", "packed-refs", "commondir"):
        os.mkfifo(git / name)
    done = castscope.run("echo", "it ran", text=True, timeout=MOST_S)
    assert done.returncode == 0 and done.stdout == "it ran\n"
    assert "castscope.json: the settings must be an ordinary file" in words(done)


def test_a_pipe_in_the_place_of_a_library_holds_no_job_up(castscope):
    agents = castscope.folder / "agents"
    agents.mkdir()
    for agent in (BUILD / "agents").glob("castscope_agent-*.so"):
        os.mkfifo(agents / agent.name)
    assert any(agents.iterdir())
    os.mkfifo(agents / "castscope.sources")
    done = castscope.run(sys.executable, "-c", "import torch; print('it ran')", text=True, timeout=MOST_S,
                         env=clean_environment(CASTSCOPE_AGENTS=agents))
    assert done.returncode == 0 and done.stdout == "it ran\n"


def test_a_bare_job_ends_where_a_pipe_is_to_be_its_policy(castscope, pipe):
    done = castscope.bare(sys.executable, "-c", "import torch; print('it ran')", text=True, timeout=MOST_S,
                          env={"CASTSCOPE_AGENTS": BUILD / "agents", "CASTSCOPE_ENFORCE": pipe})
    assert done.returncode == 125 and done.stdout == "" and "pipe.json cannot be read" in words(done)


def test_a_pipe_that_is_to_be_the_job_cannot_be_started(castscope):
    os.mkfifo(castscope.folder / "train", 0o700)
    done = castscope.run("./train", text=True, timeout=MOST_S)
    assert done.returncode == 126


def test_what_has_the_name_of_the_output_is_replaced_and_not_opened(castscope):
    (castscope.folder / "run.castscope").symlink_to("elsewhere")
    os.mkfifo(castscope.folder / "run.json")
    done = castscope("run", "--force", "-o", "run", "--", sys.executable, "-c",
                     "import torch\nwith torch.autocast('cpu'): torch.nn.Linear(4, 4)(torch.ones(2, 4))",
                     text=True, timeout=MOST_S)
    assert done.returncode == 0
    assert not (castscope.folder / "elsewhere").exists()
    assert not (castscope.folder / "run.castscope").is_symlink()
    assert castscope.report()["totals"]["casts"] > 0


@pytest.fixture
def shared(castscope):
    """A folder like /tmp, with root's folder in it, in which a run was recorded that has a finding."""
    shared = castscope.folder / "shared"
    work = shared / "work"
    work.mkdir(parents=True)
    castscope.run(sys.executable, "-c", """
import torch
linear = torch.nn.Linear(4, 4)
with torch.autocast("cpu"):
    try:
        torch.mm(linear(torch.ones(2, 4)), torch.ones(4, 4)).backward(torch.ones(2, 4))
    except RuntimeError as error:
        print(error)
""", text=True)
    shutil.copy(castscope.folder / "run.castscope", work)
    found = json.loads((castscope.folder / "run.json").read_text())["findings"]
    shared.chmod(0o1777)
    (shared / "castscope.json").write_text(json.dumps({"ignore": sorted({one["rule"] for one in found})}))
    return shared, bool(found)


@needs_root
def test_settings_of_a_stranger_in_a_shared_folder_decide_nothing(castscope, shared):
    folder, has_findings = shared
    assert has_findings
    silenced = castscope("check", "run.castscope", "--fail-on", "info", cwd=folder / "work", text=True)
    assert "ignored by" in silenced.stdout
    os.chown(folder / "castscope.json", STRANGER, STRANGER)
    checked = castscope("check", "run.castscope", "--fail-on", "info", cwd=folder / "work", text=True)
    assert checked.returncode == 1 and "ignored by" not in checked.stdout
    assert f"shared/castscope.json belongs to another user ({STRANGER}) and does not count" in words(checked)
    named = castscope("check", "run.castscope", "--config", "../castscope.json", cwd=folder / "work", text=True)
    assert "ignored by" in named.stdout and "another user" not in named.stderr


@needs_root
def test_settings_of_a_checkout_count_for_root_too(castscope, shared):
    """In a container's root, the checkout often belongs to the user who cloned it."""
    folder, _ = shared
    for path in (folder, folder / "castscope.json"):
        os.chown(path, STRANGER, STRANGER)
    folder.chmod(0o755)
    checked = castscope("check", "run.castscope", cwd=folder / "work", text=True)
    assert "ignored by" in checked.stdout and "another user" not in checked.stderr
