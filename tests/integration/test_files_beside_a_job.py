"""Files that castscope finds or is given: none may hold a job up, and a stranger's does not count."""

import os
import sys

import pytest
from program import BUILD, clean_environment

# Whoever opens a pipe to read it waits for a writer, and here there is none.
MOST_S = 100


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
