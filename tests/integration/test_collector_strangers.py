"""Machines that reach a collector's port and say nothing: they keep out themselves alone."""

import concurrent.futures
import ctypes
import os
import socket
import subprocess

import pytest
from collectors import WAIT_S, Collector
from program import clean_environment

COLLECTOR, STRANGER = "192.0.2.1", "192.0.2.66"
PORT = 7390
CLONE_NEWNET = 0x40000000
TOKEN = "a secret of the team"


def make_network():
    if ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        return False
    for address in (COLLECTOR, STRANGER):
        subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return True


@pytest.fixture
def network():
    """Runs functions in a thread with a network of its own, in which both machines have an address."""
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        if os.geteuid() != 0 or not thread.submit(make_network).result():
            pytest.skip("needs root for a network of its own")
        yield lambda act, *words: thread.submit(act, *words).result()


class OpenCollector(Collector):
    """Other machines can reach it. It may have 256 files open, and so 85 connections, of which 10 may be strangers' of
    one machine when all are taken."""

    def __init__(self, castscope):
        super().__init__(castscope, under=["env", f"CASTSCOPE_TOKEN={TOKEN}", "prlimit", "--nofile=256:256"],
                         options=["--cert", "cert.pem", "--key", "key.pem"])

    def start(self):
        self.address = f"{COLLECTOR}:{PORT}"
        super().start()


def make_certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=test", "-days", "1", "-addext",
                    f"subjectAltName=IP:{COLLECTOR}"], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def collector(castscope, network):
    make_certificate(castscope.folder)
    collector = network(OpenCollector, castscope)
    yield collector
    collector.stop()


def connect_silently(many):
    """They are in the system's queue, or have been taken from it, before anybody who comes later."""
    return [socket.create_connection((COLLECTOR, PORT), source_address=(STRANGER, 0)) for _ in range(many)]


def start_job(castscope, *command):
    return subprocess.Popen([str(castscope.program), "run", "--collector", f"{COLLECTOR}:{PORT}", "--ca", "cert.pem",
                             "--", *command], cwd=castscope.folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=clean_environment(CASTSCOPE_SPOOL_BYTES="0", CASTSCOPE_TOKEN=TOKEN))


def test_connections_of_one_machine_that_say_nothing_keep_no_other_one_out(castscope, network, collector):
    """Nor are they told from others by their machine alone: more jobs of one machine than it may have strangers stay,
    and a further one comes in."""
    jobs = [network(start_job, castscope, "cat") for _ in range(11)]
    for _ in jobs:
        collector.read_log_until("begins in")
    idle = network(connect_silently, 200)
    jobs.append(network(start_job, castscope, "true"))
    for job in reversed(jobs):
        told = job.communicate("", timeout=WAIT_S)[1]
        assert job.returncode == 0 and "is kept by the collector" in told, told
    for connection in idle:
        connection.close()
