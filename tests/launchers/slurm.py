"""A SLURM of one machine, as a job's tests need it: a controller and a node, for as long as a test runs.

It uses no munge and no cgroups; both ends trust each other, and listen on this machine alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time

CONFIGURATION = """\
ClusterName=castscope
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmctldPort={controller}
SlurmdPort={node}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
"""


def why_not():
    """Why there can be none here; "" = nothing speaks against it."""
    if os.geteuid() != 0:
        return "slurmd has to be root"
    missing = [name for name in ("slurmctld", "slurmd", "srun", "sbatch") if not shutil.which(name)]
    return f"{', '.join(missing)} is not installed" if missing else ""


def free_ports(number):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def cluster(folder):
    """Yields the variables by which srun finds it."""
    controller, node = free_ports(2)
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    file = folder / "slurm.conf"
    host = socket.gethostname().split(".")[0]
    file.write_text(CONFIGURATION.format(host=host, controller=controller, node=node, folder=folder))
    environment = os.environ | {"SLURM_CONF": str(file)}
    with contextlib.ExitStack() as stack:
        for daemon in ("slurmctld", "slurmd"):
            process = subprocess.Popen([shutil.which(daemon), "-D", "-f", str(file)], env=environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
        wait_for_node(folder, environment)
        yield {"SLURM_CONF": str(file)}


def wait_for_node(folder, environment):
    deadline = time.monotonic() + 300
    while True:
        told = subprocess.run(["sinfo", "-h", "-o", "%t"], env=environment, capture_output=True, text=True, check=False)
        if told.stdout.strip() == "idle":
            return
        logs = "".join(path.read_text()[-2000:] for path in folder.glob("*.log"))
        assert time.monotonic() < deadline, f"the node does not come up: {told.stdout}{told.stderr}\n{logs}"
        time.sleep(0.2)
