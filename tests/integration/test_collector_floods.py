"""Strangers that begin calls of a collector without end: they have no token, and keep out nobody who has one. And who
has one, and begins as many as there may be, keeps out nobody else."""

import os
import select
import socket
import struct

import pytest
from collectors import WAIT_S, Collector, exited, refused, train
from test_collector_tokens import Tokens, entry

TOKEN = "a secret of the team"
HEADERS, RST_STREAM, SETTINGS = 1, 3, 4
END_HEADERS = 4
WINDOW = struct.pack(">HI", 4, 0)  # SETTINGS_INITIAL_WINDOW_SIZE: nothing may be sent
CANCEL = struct.pack(">I", 8)


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


CALL = b"".join(literal(*pair) for pair in [
    (b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/castscope.v1.Collector/Stream"),
    (b":authority", b"x"), (b"content-type", b"application/grpc"), (b"te", b"trailers")])


def connect(address, settings=b""):
    host, port = address.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), timeout=WAIT_S)
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, settings))
    return connection


def exchange(connection, words):
    """Sends them all, and reads what comes meanwhile. A connection that has ended is an error."""
    connection.setblocking(False)
    while words:
        readable, writable, _ = select.select([connection], [connection], [], WAIT_S)
        assert readable or writable, "nothing goes on"
        if readable and not connection.recv(1 << 16):
            raise ConnectionError("the collector has ended it")
        if writable:
            words = words[connection.send(words):]


class OpenCollector(Collector):
    """It has 597 threads for calls, at most."""

    def __init__(self, castscope):
        super().__init__(castscope, under=["env", f"CASTSCOPE_TOKEN={TOKEN}", "prlimit", "--nofile=256:256"])

    def start(self):
        self.address = "127.0.0.1:0"
        super().start()


@pytest.fixture
def guarded(castscope):
    collector = OpenCollector(castscope)
    yield collector
    collector.stop()


def whole_run(wire, client):
    process = wire.Process(client, pid=1)
    train(wire, process)
    process.batch(end=exited(wire))
    process.client.goodbye(exit_code=0)
    process.client.close()


def test_calls_that_are_taken_back_at_once_end_their_connection(wire, guarded):
    """"Rapid reset": 400 bytes of a stranger's make a thread, and some ten kilobytes. Who was in already stays."""
    honest = wire.Client(guarded.address, "honest", token=TOKEN)
    flood = connect(guarded.address)
    most, sent, stream = 64 << 20, 0, 1
    with pytest.raises(ConnectionError):
        while sent < most:
            calls = b"".join(frame(HEADERS, END_HEADERS, one, CALL) + frame(RST_STREAM, 0, one, CANCEL)
                             for one in range(stream, stream + 1000, 2))
            exchange(flood, calls)
            sent, stream = sent + len(calls), stream + 1000
    flood.close()
    with pytest.raises(ConnectionError):  # and its machine is barred
        barred = connect(guarded.address)
        while barred.recv(1 << 16):
            pass
        raise ConnectionError
    whole_run(wire, honest)
    assert len(os.listdir(f"/proc/{guarded.server.pid}/task")) < 700


def test_refusals_that_are_not_read_keep_nobody_out(wire, guarded):
    """Each of these calls would hold a thread until its peer goes."""
    floods = [connect(guarded.address, WINDOW) for _ in range(8)]
    for flood in floods:
        flood.sendall(b"".join(frame(HEADERS, END_HEADERS, stream, CALL) for stream in range(1, 200, 2)))
    guarded.read_log_until("audit: no token came from")
    whole_run(wire, wire.Client(guarded.address, "honest", token=TOKEN))
    for flood in floods:
        flood.close()


def test_a_sender_leaves_some_streams_to_others(wire, castscope):
    """Each holds a thread. The collector has threads for 85, and one of several senders gets 63."""
    tokens = Tokens(castscope.folder)
    tokens.write(entry("one", "a", "send"), entry("other", "b", "send"))
    collector = Collector(castscope, under=["prlimit", "--nofile=256:256"], options=["--tokens", tokens.path])
    streams = [wire.Client(collector.address, "run", relay=f"r{number}", token="a") for number in range(63)]
    code, sentence = refused(wire, lambda: wire.Client(collector.address, "run", relay="more", token="a"))
    assert code == "UNAVAILABLE"
    assert 'the sender "one" has three quarters of the streams that the collector has room for' in sentence
    whole_run(wire, wire.Client(collector.address, "others", token="b"))
    streams.pop().close()
    streams.append(wire.Client(collector.address, "run", relay="more", token="a"))
    for stream in streams:
        stream.close()
    collector.stop()
