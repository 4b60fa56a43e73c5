"""Records what a version leaves to the next one: record.py CASTSCOPE REPLAYED_JOB OUTPUT.tar.xz

A job runs under that castscope, and a collector of it takes the run and is killed in its middle. The archive has the
collector's folder as it was then (collected/), each of the relay's two streams, before and after that (first, second:
each message with its length before it, 4 bytes, little-endian), and truth.json: the job's casts, and those that were
acknowledged when the collector was killed.
"""

import concurrent.futures
import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading

import grpc

METHOD = "/castscope.v1.Collector/Stream"
CASTS, PER_SECOND, STATUS = 900, 300, 3
TAKEN_BEFORE_THE_KILL = 4  # answers of the collector


class Recorder(grpc.GenericRpcHandler):
    """Passes streams on to a collector, and keeps the messages of relays."""

    def __init__(self):
        self.streams, self.answers = [], 0
        self.enough = threading.Event()
        self.target = None

    def service(self, details):
        return grpc.stream_stream_rpc_method_handler(self.pass_on) if details.method == METHOD else None

    def pass_on(self, requests, context):
        kept = []
        self.streams.append(kept)

        def outgoing():
            for message in requests:
                kept.append(message)
                yield message
        with contextlib.suppress(grpc.RpcError), grpc.insecure_channel(self.target) as channel:
            for answer in channel.stream_stream(METHOD)(outgoing()):
                self.answers += 1
                if self.answers == TAKEN_BEFORE_THE_KILL:
                    self.enough.set()
                yield answer
            return
        context.abort(grpc.StatusCode.UNAVAILABLE, "the collector was killed")


def start_collector(castscope, folder, collected):
    server = subprocess.Popen([castscope, "serve", "--listen", "127.0.0.1:0", "--folder", collected], cwd=folder,
                              stderr=subprocess.PIPE, text=True)
    return server, re.search(r"collecting on (\S+)", server.stderr.readline())[1]


def record(castscope, replayed_job, folder):
    shutil.copy(replayed_job, folder / "replayed_job")
    recorder = Recorder()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), handlers=[recorder])
    port = server.add_insecure_port("127.0.0.1:0")
    collector, recorder.target = start_collector(castscope, folder, "collected")
    server.start()
    job = subprocess.Popen([castscope, "run", "--collector", f"127.0.0.1:{port}", "-o", "job", "--", "./replayed_job",
                            "progress", str(CASTS), str(PER_SECOND), str(STATUS)], cwd=folder)
    assert recorder.enough.wait(300)
    collector.kill()
    collector.communicate()
    shutil.copytree(folder / "collected", folder / "left")
    collector, recorder.target = start_collector(castscope, folder, "collected")
    assert job.wait(300) == STATUS
    collector.terminate()
    collector.communicate()
    server.stop(None)
    first, *between, second = [stream for stream in recorder.streams if len(stream) > 1]
    assert not between
    return first, second


def casts_in(castscope, run_file):
    """It is read where it is copied to, for SQLite brings a file and its log together."""
    with tempfile.TemporaryDirectory() as folder:
        for part in run_file.parent.glob(run_file.name + "*"):
            shutil.copy(part, folder)
        told = subprocess.run([castscope, "report", pathlib.Path(folder, run_file.name)], capture_output=True,
                              check=False)
        return json.loads(told.stdout)["totals"]["casts"]


def main():
    castscope, replayed_job, output = (os.path.abspath(word) for word in sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="upgrade-") as name:
        folder = pathlib.Path(name)
        streams = record(castscope, replayed_job, folder)
        truth = {"casts": CASTS, "exit_status": STATUS, "left": casts_in(castscope, folder / "left" / "job.castscope")}
        parts = {f"collected/{file.name}": file.read_bytes() for file in sorted((folder / "left").iterdir())
                 if file.name.startswith("job.castscope") and not file.name.endswith("-shm")}
        for part, stream in zip(("first", "second"), streams):
            parts[part] = b"".join(struct.pack("<I", len(message)) + message for message in stream)
        parts["truth.json"] = json.dumps(truth).encode()
        with tarfile.open(output, "w:xz") as archive:
            for part, data in parts.items():
                info = tarfile.TarInfo(part)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        print(truth, {part: len(data) for part, data in parts.items()})


if __name__ == "__main__":
    main()
