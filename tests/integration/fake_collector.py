"""A gRPC server in the place of a collector, which says what a test wants it to say, and spools to be sent to it."""

import concurrent.futures
import contextlib
import struct
import time
import zlib

import grpc

WAIT_S = 300
MOST_STREAMS = 32


class FakeCollector:
    """`talk(hello, messages, context)` yields what each stream is answered, after its hello."""

    def __init__(self, wire, talk):
        self.pb, self.talk = wire.pb, talk
        self.heard = []  # (run, the number of its message or None)
        self.pool = concurrent.futures.ThreadPoolExecutor(MOST_STREAMS)
        self.server = grpc.server(self.pool)
        handler = grpc.stream_stream_rpc_method_handler(self.stream, self.pb.RelayMessage.FromString,
                                                        lambda answer: answer.SerializeToString())
        self.server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("castscope.v1.Collector",
                                                                                   {"Stream": handler})])
        self.address = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.server.start()

    def stream(self, messages, context):
        hello = next(messages).hello
        yield from self.talk(hello, self.heard_of(hello, messages), context)

    def heard_of(self, hello, messages):
        for message in messages:
            self.heard.append((hello.run_id, number_of(message)))
            yield message

    def welcome(self):
        return self.pb.CollectorMessage(welcome=self.pb.Welcome(protocol=7, castscope_version="fake"))

    def acknowledged(self, sequence, **more):
        return self.pb.CollectorMessage(ack=self.pb.Ack(sequence=sequence, **more))

    def take_all(self, messages):
        """As an honest collector does that keeps nothing."""
        for message in messages:
            if number := number_of(message):
                yield self.acknowledged(number)

    def stop(self):
        self.server.stop(0).wait(WAIT_S)


def number_of(message):
    part = getattr(message, message.WhichOneof("message"))
    return getattr(part, "sequence", 0)


@contextlib.contextmanager
def in_place_of_a_collector(wire, make_talk):
    """`make_talk(collector)` returns its `talk`."""
    fake = FakeCollector(wire, None)
    fake.talk = make_talk(fake)
    try:
        yield fake
    finally:
        fake.stop()


def put_spool(pb, folder, run, address):
    """Leaves the end of a run for that collector, as a relay does: a goodbye, number 1."""
    hello = pb.Hello(lowest_protocol=7, highest_protocol=7, run_id=run, relay="relay", host="host", run_file_name=run,
                     command=["job"], start_epoch_ns=time.time_ns())
    goodbye = pb.RelayMessage(goodbye=pb.Goodbye(sequence=1, exit_code=0))
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{run}.relay.spool"
    whereto = f"{address}\n\n\n\n"
    records = [b"w" + whereto.encode(), b"h" + hello.SerializeToString(), b"m" + goodbye.SerializeToString()]
    path.write_bytes(b"castscope spool 1\n" + b"".join(struct.pack("<II", len(record), zlib.crc32(record)) + record
                                                       for record in records))
    return path
