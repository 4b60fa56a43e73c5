"""A proxy that knows messages: the program messages.py, between relays and a collector."""

import importlib.util
import pathlib
import subprocess
import sys

import runs

PROGRAM = pathlib.Path(__file__).resolve().parent / "messages.py"
STUBS = runs.CASTSCOPE.parent / "tests" / "faults" / "stubs"


def make_stubs():
    protos = runs.ROOT / "proto" / "castscope" / "v1"
    STUBS.mkdir(exist_ok=True)
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", "-I", protos, f"--python_out={STUBS}",
                    f"--grpc_python_out={STUBS}", protos / "castscope.proto"], check=True)


def trouble():
    """Why there is no such proxy here; "" where there is one."""
    return "" if importlib.util.find_spec("grpc_tools") else "no grpcio-tools (tests/requirements.txt)"


class StreamProxy:
    def __init__(self, target):
        self.program = subprocess.Popen([sys.executable, str(PROGRAM), str(STUBS), target], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.program.stdout.readline())

    def say(self, way):
        self.program.stdin.write(way + "\n")
        self.program.stdin.flush()

    def say_again(self):
        """Sends each stream that was passed on once more. How each ended: "OK", or a status and its sentence."""
        self.say("again")
        return [ending for ending in self.program.stdout.readline().rstrip("\n").split("\t") if ending]

    def close(self):
        self.program.kill()
        self.program.communicate()
