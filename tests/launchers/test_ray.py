"""Ray's workers on a cluster that was there before the driver, and knows nothing of castscope."""

import contextlib
import re
import shutil
import subprocess
import time

import pytest
import runs
from launched import INSTALLED, must_be_exact, reports_now, together
from recipes import INSTALLED_RECIPES, Recipe
from slurm import free_ports

pytestmark = pytest.mark.skipif(not INSTALLED, reason="scripts/launchers installs the launchers, and runs this")
(RAY,) = [recipe for recipe in INSTALLED_RECIPES if recipe.name == "ray"]
LIMIT_S = 180
OPEN = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}  # as the drivers have it


@pytest.fixture(scope="module")
def cluster(workshop, tmp_path_factory):
    """The variable by which a driver finds it."""
    path = workshop.path()
    if not (ray := shutil.which("ray", path=path)):
        pytest.skip("ray is not installed")
    (port,) = free_ports(1)
    log = tmp_path_factory.mktemp("ray") / "log"
    command = [ray, "start", "--head", "--block", f"--port={port}", "--num-cpus=2", "--include-dashboard=false"]
    with contextlib.ExitStack() as stack:
        head = subprocess.Popen(command, env=runs.clean_environment() | OPEN | {"PATH": path},
                                stdin=subprocess.DEVNULL, stdout=stack.enter_context(log.open("w")),
                                stderr=subprocess.STDOUT)
        stack.callback(head.wait, LIMIT_S)
        stack.callback(head.terminate)
        deadline = time.monotonic() + LIMIT_S
        while not (started := re.search(r"ray start --address='([^']+)'", log.read_text())):
            assert time.monotonic() < deadline and head.poll() is None, log.read_text()
            time.sleep(0.1)
        yield {"RAY_ADDRESS": started[1]}


def test_workers_join_the_run_of_their_driver(workshop, cluster):
    must_be_exact(RAY, workshop.count(RAY), workshop.trace(RAY, cluster, "joining"))


def test_workers_have_runs_of_their_own(workshop, cluster):
    """No castscope is around the driver: each worker that has PyTorch writes its run when it ends."""
    alone = workshop.count(RAY)
    folder = workshop.fresh("of-their-own")
    done = workshop.shell('RUNTIME_ENV=$(castscope env --ray -o runs/ -- python) python driver.py', folder, "castscope",
                          cluster)
    assert done.status == 5, done.stderr
    deadline = time.monotonic() + LIMIT_S
    while (report := together(reports_now(folder)))["totals"]["casts"] < alone.counts.casts:
        assert time.monotonic() < deadline, report["totals"]
        time.sleep(0.1)
    done.reports = reports_now(folder)
    must_be_exact(Recipe("of-their-own", ranks=(), status=5, by_process=False, complete=False), alone, done)
