"""Messages that only somebody hostile sends, to a recorder or to a collector: they cost little memory."""

import contextlib
import pathlib
import queue
import socket
import struct
import subprocess
import threading
import zlib
from concurrent import futures

import grpc
import pytest
from program import clean_environment
from work import WORK

WAIT_S = 300
DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 3, 4, 6, 8
ACK, END_STREAM, END_HEADERS = 1, 1, 4
STATUS_200 = b"\x88"
INITIAL_WINDOW_SIZE = 4
LARGEST_FRAME = 16384
MB = 1 << 20
# Several times what either end needs, and a part of what it took when it read such a message to its end.
MOST_KB = 128 << 10


def header(name, value):
    """As HPACK has it, without its tables."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


class Conversation:
    """HTTP/2 with one relay: each of its streams is sent `body` as fast as the relay's windows let it."""

    def __init__(self, connection, collector):
        self.connection, self.collector = connection, collector
        self.window, self.initial, self.streams = 65535, 65535, {}  # stream: [its window, what was sent]

    def frame(self, kind, flags, stream, payload=b""):
        self.connection.sendall(struct.pack(">IBI", len(payload) << 8 | kind, flags, stream) + payload)

    def read(self, size):
        data = self.connection.recv(size, socket.MSG_WAITALL) if size else b""
        if len(data) < size:
            raise ConnectionError
        return data

    def run(self):
        self.read(len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
        self.frame(SETTINGS, 0, 0)
        while True:
            length_and_kind, flags, stream = struct.unpack(">IBI", self.read(9))
            self.heard(length_and_kind & 0xff, flags, stream, self.read(length_and_kind >> 8))
            for number in list(self.streams):
                self.send_on(number, self.streams[number])

    def heard(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK:
            for name, value in struct.iter_unpack(">HI", payload):
                if name == INITIAL_WINDOW_SIZE:
                    for state in self.streams.values():
                        state[0] += value - self.initial
                    self.initial = value
            self.frame(SETTINGS, ACK, 0)
        elif kind == WINDOW_UPDATE and stream == 0:
            self.window += struct.unpack(">I", payload)[0]
        elif kind == WINDOW_UPDATE and stream in self.streams:
            self.streams[stream][0] += struct.unpack(">I", payload)[0]
        elif kind == PING and not flags & ACK:
            self.frame(PING, ACK, 0, payload)
        elif kind == HEADERS:
            self.streams[stream] = [self.initial, 0]
            self.frame(HEADERS, END_HEADERS, stream, STATUS_200 + self.collector.headers)
            self.collector.opened.put(stream)
        elif kind == RST_STREAM:
            self.streams.pop(stream, None)

    def send_on(self, stream, state):
        while (size := min(LARGEST_FRAME, self.window, state[0])) > 0:
            part = self.collector.body(state[1], size)
            if not part:
                self.frame(HEADERS, END_HEADERS | END_STREAM, stream, header(b"grpc-status", b"0"))
                del self.streams[stream]
                return
            self.frame(DATA, 0, stream, part)
            self.window -= len(part)
            state[0] -= len(part)
            state[1] += len(part)


class HostileCollector:
    def __init__(self, headers, body):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.headers, self.body = header(b"content-type", b"application/grpc") + headers, body
        self.opened = queue.SimpleQueue()  # streams: with each but the first, the relay is done with the one before
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.converse, args=(connection,), daemon=True).start()

    def converse(self, connection):
        with contextlib.suppress(OSError):
            Conversation(connection, self).run()


def endless(sent, size):
    """A message that says to be 2 GB long."""
    return (struct.pack(">BI", 0, 2 << 30) + bytes(size))[:size] if sent == 0 else bytes(size)


def bomb():
    """A message of 2 MB that is 2 GB long when it is unpacked: the same packed zeros again and again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = packer.compress(bytes(MB)) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = struct.pack(">HH", (2048 * MB) % 65521, 1)
    packed = b"\x78\xda" + zeros * 2048 + packer.flush() + checksum
    whole = struct.pack(">BI", 1, len(packed)) + packed
    return lambda sent, size: whole[sent:sent + size]


def peak_kb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise AssertionError("no VmHWM")


ANSWERS = {"endless": (b"", endless), "bomb": (header(b"grpc-encoding", b"deflate"), bomb())}


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_that_no_collector_gives_costs_a_recorder_little_memory(castscope, answer):
    """Each try of the recorder begins when it is done with the answer to the one before."""
    collector = HostileCollector(*ANSWERS[answer])
    job = subprocess.Popen([str(castscope.program), "run", "--collector", collector.address, "--", "cat"],
                           cwd=castscope.folder, env=clean_environment(), stdin=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    for _ in range(3):
        collector.opened.get(timeout=WAIT_S)
    assert peak_kb(job.pid) < MOST_KB
    _, told = job.communicate("", timeout=WAIT_S)
    assert job.returncode == 0 and "did not receive this run" in told, told


FORGED = "no\r\ncastscope: FORGED\n\x1b[2J" + "x" * 100_000


def refuse(pb, _, context):
    yield pb.CollectorMessage(refusal=pb.Refusal(refusal_reason=pb.REFUSAL_REASON_TOKEN, sentence=FORGED))
    context.abort(grpc.StatusCode.UNAUTHENTICATED, FORGED[:3000])


def be_away(_, __, context):
    context.abort(grpc.StatusCode.UNAVAILABLE, FORGED[:3000])


def reject(pb, messages, _):
    for message in messages:
        kind = message.WhichOneof("message")
        if kind == "hello":
            yield pb.CollectorMessage(welcome=pb.Welcome(protocol=7, castscope_version=FORGED))
        elif kind == "batch":
            rejection = pb.Rejection(process_key=message.batch.process_key, sentence=FORGED)
            yield pb.CollectorMessage(ack=pb.Ack(sequence=message.batch.sequence, rejections=[rejection]))
        elif kind == "goodbye":
            yield pb.CollectorMessage(ack=pb.Ack(sequence=message.goodbye.sequence))


@pytest.mark.parametrize("answer", [refuse, be_away, reject])
def test_what_a_collector_says_is_one_short_line(castscope, python, wire, answer):
    pb, services = wire.pb, wire.castscope_pb2_grpc

    class Collector(services.CollectorServicer):
        def Stream(self, messages, context):
            yield from answer(pb, messages, context) or ()

    server = grpc.server(futures.ThreadPoolExecutor(8))
    services.add_CollectorServicer_to_server(Collector(), server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        done = castscope("run", "--collector", address, "--", python, "-c", WORK + "work(1)", text=True)
        looked = castscope("doctor", "--collector", address, text=True)
    finally:
        server.stop(None)
    assert done.returncode == 0 and "no??castscope: FORGED??[2Jxxx" in done.stderr, done.stderr
    for line in done.stderr.splitlines():
        assert line.startswith("castscope: ") and not line.startswith("castscope: FORGED") and len(line) < 1000, line
    assert len(looked.stdout + looked.stderr) < 10_000 and "\ncastscope: FORGED" not in looked.stdout + looked.stderr


@pytest.mark.parametrize("form", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_a_packed_message_is_refused_before_it_is_unpacked(wire, collector, form):
    """The other way round: 256 MB of zeros are a quarter of a megabyte on the way to a collector."""
    with grpc.insecure_channel(collector.address, [("grpc.max_send_message_length", -1)]) as channel:
        stream = channel.stream_stream("/castscope.v1.Collector/Stream", request_serializer=bytes,
                                       response_deserializer=bytes)
        with pytest.raises(grpc.RpcError) as refused:
            next(stream(iter([bytes(256 * MB)]), compression=form))
    assert refused.value.code().name == "UNIMPLEMENTED" and "is disabled" in refused.value.details()
    assert peak_kb(collector.server.pid) < MOST_KB
