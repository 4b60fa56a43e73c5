"""A token goes to the collector that it was given for, and to no other that a file names."""

import contextlib
import json
import re
import signal
import socket
import struct
import subprocess
import zlib

import pytest
from collectors import Collector
from program import clean_environment
from test_collector_access import another_address

BEGIN = b"castscope spool 1\n"


def environment_of(castscope, **more):
    return clean_environment(CASTSCOPE_SPOOL=castscope.folder / "spool", CASTSCOPE_SPOOL_BYTES="1 MB", **more)


def replayed(castscope, seconds=0.01):
    return [castscope.program.parent / "tests/faults/replayed_job", "progress", str(int(1000 * seconds)), "1000", "0"]


@pytest.fixture
def left(castscope):
    """Runs a job whose collector is away, and returns the file in the spool."""
    def run(address, **more):
        castscope("run", "--collector", address, "-o", "left", "--", *replayed(castscope),
                  env=environment_of(castscope, **more))
        file, = (castscope.folder / "spool").glob("*.spool")
        return file
    return run


def change_destination(file, change):
    """Rewrites the lines in which the file says where it is to go."""
    data = file.read_bytes()
    length, _ = struct.unpack_from("<II", data, len(BEGIN))
    at = len(BEGIN) + 8
    lines = data[at + 1:at + length].decode().split("\n")
    change(lines)
    record = b"w" + "\n".join(lines).encode()
    file.write_bytes(BEGIN + struct.pack("<II", len(record), zlib.crc32(record)) + record + data[at + length:])


def goes_to(address):
    def change(lines):
        lines[0] = address
    return change


@contextlib.contextmanager
def listener(host):
    with socket.create_server((host, 0)) as listening:
        listening.setblocking(False)
        yield listening


def nobody_came(listening):
    with pytest.raises(BlockingIOError):
        listening.accept()


def recover(castscope, *words, token="ours"):
    done = castscope("recover", *words, text=True, env=environment_of(castscope, CASTSCOPE_TOKEN=token))
    done.said = " ".join(done.stderr.split())
    return done


def away(castscope):
    return f"unix:{castscope.folder}/away"


def test_a_spool_that_names_another_machine_in_clear_is_not_sent(castscope, left):
    file = left(away(castscope))
    with listener("0.0.0.0") as listening:
        change_destination(file, goes_to(f"{another_address()}:{listening.getsockname()[1]}"))
        done = recover(castscope, "--all")
        nobody_came(listening)
    assert done.returncode == 3 and "nothing is sent there without TLS" in done.said, done.said


def test_the_token_of_one_collector_is_not_given_to_another_that_a_spool_names(castscope, left):
    file = left(away(castscope), CASTSCOPE_TOKEN="ours")
    with listener("127.0.0.1") as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        change_destination(file, goes_to(address))
        done = recover(castscope, "--all")
        nobody_came(listening)
    assert done.returncode == 3 and f"say so: --collector {address}" in done.said, done.said


def test_authorities_that_somebody_put_into_a_spool_get_no_token(castscope, left):
    """Whoever could change the file would name a certificate of his own."""
    with listener("127.0.0.1") as listening:
        file = left(f"127.0.0.1:{listening.getsockname()[1]}", CASTSCOPE_TOKEN="ours")

        def trust(lines):
            lines[1:3] = ["tls", "theirs.pem"]
        while True:
            try:
                listening.accept()[0].close()
            except BlockingIOError:
                break
        change_destination(file, trust)
        done = recover(castscope, "--all")
        nobody_came(listening)
    assert done.returncode == 3 and "with another token than the one that you give now" in done.said, done.said


@pytest.fixture
def guarded(castscope):
    collector = Collector(castscope, under=["env", "CASTSCOPE_TOKEN=ours"])
    yield collector
    collector.stop()


def test_a_job_that_had_no_token_gives_nobody_one_when_it_is_recovered(castscope, left, guarded):
    left(away(castscope))
    file, = (castscope.folder / "spool").iterdir()
    change_destination(file, goes_to(guarded.address))
    done = recover(castscope, "--all")
    assert done.returncode == 3 and f"--collector {guarded.address} gives it" in done.said, done.said
    assert recover(castscope, "--all", "--collector", guarded.address).returncode == 0
    assert not file.exists()


def test_the_token_goes_where_it_was_given_for(castscope, left, guarded):
    guarded.stop()
    file = left(guarded.address, CASTSCOPE_TOKEN="ours")
    assert "ours" not in file.read_text(errors="replace")
    guarded.start()
    done = recover(castscope, "--all")
    assert done.returncode == 0 and not file.exists(), done.said


def test_a_run_json_that_names_another_collector_gets_no_token(castscope, guarded):
    """The recorder is killed, and somebody changes where its run was sent."""
    script = ["sh", "-c", 'echo "$CASTSCOPE_RUN"; "$@"; read line', "sh", *map(str, replayed(castscope))]
    job = subprocess.Popen([str(castscope.program), "run", "--collector", guarded.address, "-o", "left", "--", *script],
                           cwd=castscope.folder, env=environment_of(castscope, CASTSCOPE_TOKEN="ours"), text=True,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    directory = job.stdout.readline().strip()
    job.send_signal(signal.SIGKILL)
    job.wait()
    job.stdin.close()
    job.stdout.read()
    path = f"{directory}/run.json"
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    assert re.fullmatch("[0-9a-f]{64}", record["token_proof"])
    with listener("127.0.0.1") as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(record | {"collector": address}, file)
        done = recover(castscope, directory)
        nobody_came(listening)
    assert done.returncode == 3 and f"say so: --collector {address}" in done.said, done.said
    with open(path, "w", encoding="utf-8") as file:
        json.dump(record, file)
    done = recover(castscope, directory)
    assert done.returncode == 0, done.said
