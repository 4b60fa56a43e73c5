import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
# gRPC's handlers of fork() end some of the children that tests start with preexec_fn.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
sys.path[:0] = [str(HERE), str(HERE.parent)]
pytest.register_assert_rewrite("viewer_page", "collectors")
from collectors import collector, wire  # noqa: E402, F401
from program import Castscope  # noqa: E402
from sharing import pytest_configure, ran, ran_in_this_file  # noqa: E402, F401
from viewer import recorded, view  # noqa: E402, F401

# A shell starts background jobs with SIGINT ignored, nohup does so with SIGHUP; the jobs here would inherit it.
for ignored in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(ignored) is signal.SIG_IGN:
        signal.signal(ignored, signal.default_int_handler if ignored is signal.SIGINT else signal.SIG_DFL)


@pytest.fixture
def castscope(tmp_path):
    return Castscope(tmp_path)


@pytest.fixture
def python():
    return sys.executable


@pytest.fixture
def python_without_us(tmp_path):
    """A Python in which neither the castscope package nor anything else is installed."""
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", tmp_path / "alone"], check=True)
    return str(tmp_path / "alone" / "bin" / "python")


@pytest.fixture
def enforce(castscope):
    """Runs a command under a policy, given by name or by the contents of its file. Returns the output, by lines."""

    def run(policy, *command, options=(), fails=False):
        if isinstance(policy, dict):
            (castscope.folder / "policy.json").write_text(json.dumps(policy))
            policy = "policy.json"
        done = castscope("run", "--force", "-o", "run", "--enforce", policy, *options, "--", sys.executable, *command,
                         text=True)
        assert fails or done.returncode == 0, done.stderr
        return done if fails else done.stdout.splitlines()

    return run
