"""A collector, and what a client of tests/clients/wire_client.py tells it: a training loop of two sites."""

import pathlib
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest
from program import ROOT, clean_environment
from reports import read_report

WAIT_S = 300


class Collector:
    """A `castscope serve` that keeps its runs in the folder `collected`. It is started by the command `under`."""

    def __init__(self, castscope, socket="socket", under=(), options=(), address=None):
        self.castscope, self.folder = castscope, castscope.folder / "collected"
        self.address, self.under, self.options = address or f"unix:{castscope.folder}/{socket}", under, options
        self.start()

    def start(self):
        command = [*self.under, str(self.castscope.program), "serve", "--listen", self.address, "--folder", "collected",
                   *map(str, self.options)]
        self.server = subprocess.Popen(command, cwd=self.castscope.folder, env=clean_environment(),
                                       stderr=subprocess.PIPE, text=True)
        said = self.server.stderr.readline()
        assert "collecting on" in said
        if self.address.endswith(":0"):  # a port that the system chose
            self.address = said.split("collecting on ")[1].split(" into ")[0]

    def read_log_until(self, words):
        """Reads the log, line by line, up to one that has these words. A collector that does not say them is killed."""
        patience = threading.Timer(WAIT_S, self.server.kill)
        patience.start()
        try:
            for line in self.server.stderr:
                if words in line:
                    return line
        finally:
            patience.cancel()
        raise AssertionError(f"the collector ended and did not say: {words}")

    def kill_and_start_again(self):
        self.server.kill()
        self.server.communicate(timeout=WAIT_S)
        self.start()

    def stop(self):
        """Ends it, and with it every run that is still open."""
        if self.server.poll() is None:
            self.server.send_signal(signal.SIGTERM)
            self.log = self.server.communicate(timeout=WAIT_S)[1]
        assert self.server.returncode == 0

    def report(self, run):
        self.stop()
        return read_report(self.folder / f"{run}.json")

    def check(self, run):
        return self.castscope("check", pathlib.Path("collected", f"{run}.castscope"), text=True)


def asked(url):
    try:
        with urllib.request.urlopen(url, timeout=WAIT_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def readiness(monitor):
    """What /readyz says once the collector knows its folder, which it reads beside the first requests."""
    while "still being read" in (answer := asked(monitor + "/readyz"))[1]:
        pass
    return answer


def certificate_for_loopback(folder):
    """Makes cert.pem, which is its own authority, and key.pem."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=test", "-days", "1", "-addext",
                    "subjectAltName=IP:127.0.0.1"], cwd=folder, check=True, capture_output=True)


def define_code(wire, process):
    """A region, and in it the sites of a weight and of an input."""
    pb = wire.pb
    stack = process.at("train.py", 7, "train")
    region = process.define("region", pb.Region(stack=stack, nesting=1, region_device="cpu", region_dtype="bfloat16",
                                                enabled=True, cache_enabled=True, region_kind="context"))
    common = {"region": region, "cause": "autocast", "phase": "forward", "from_dtype": "float32",
              "to_dtype": "bfloat16", "device": "cpu", "stack": process.at("train.py", 12, "Net.forward"),
              "module_id": process.define("module", pb.Module(module="fc", module_type="Linear", root_module_type="Net",
                                                          root_module_number=1))}
    argument = {name: process.define("call_site", pb.CallSite(operator="aten::linear", argument_position=number,
                                                              argument_name=name))
                for number, name in enumerate(["input", "weight"])}
    weight = process.define("site", pb.Site(role="weight", call_site=argument["weight"], **common))
    data = process.define("site", pb.Site(role="input", call_site=argument["input"], why_not_cached="no_requires_grad",
                                          **common))
    return region, weight, data


def train(wire, process, steps=3):
    """A training loop: in each step a weight is cast, kept and served, and an input is cast."""
    region, weight, data = define_code(wire, process)
    for _ in range(steps):
        with process.region(region):
            process.cast(data, source=0x1000, shape=[4, 8])
            process.cast(weight, source=0x2000, shape=[8, 8], kept=True)
            process.hit(weight, source=0x2000, shape=[8, 8])
        process.optimizer_step()
        process.batch()


def exited(wire, status=0):
    return wire.pb.ProcessEnd(end_kind=wire.pb.PROCESS_END_KIND_EXITED, exit_status=status)


def refused(wire, act):
    with pytest.raises(wire.Refused) as caught:
        act()
    return caught.value.code.name, caught.value.sentence


@pytest.fixture(scope="session")
def wire(tmp_path_factory):
    """The client's module, with the messages that castscope.proto has now."""
    generated = tmp_path_factory.mktemp("generated")
    protos = ROOT / "proto/castscope/v1"
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", "-I", protos, f"--python_out={generated}",
                    f"--grpc_python_out={generated}", protos / "castscope.proto"], check=True, timeout=WAIT_S)
    sys.path[:0] = [str(generated), str(ROOT / "tests/clients")]
    import wire_client
    return wire_client


@pytest.fixture
def collector(castscope):
    collector = Collector(castscope)
    yield collector
    collector.stop()
