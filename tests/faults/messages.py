"""Passes on what relays and a collector say to each other: messages twice, in another order, or again after the end.

  messages.py STUBS TARGET

STUBS is the folder of the modules that protoc makes of castscope.proto. The program prints the port on which it
listens, and reads lines. Each is a word for what happens to messages from then on:

  plain     they are passed on
  twice     each comes twice
  swapped   a batch comes after the message that follows it
  late      the relay loses its stream, and begins another one; meanwhile the collector is sent everything of the first
            one again
  again     at once: each stream that was passed on is sent again; a line is printed that says how each ended
"""

import concurrent.futures
import contextlib
import queue
import sys

import grpc

sys.path.insert(0, sys.argv[1])
import castscope_pb2_grpc

LIMITS = [("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 64 << 20)]
SWAP_WITHIN_S = 0.3


class Passed:
    """A relay's stream and the one to the collector that goes with it."""

    def __init__(self, passer, context):
        self.passer, self.messages = passer, []
        self.outgoing = queue.SimpleQueue()
        self.upstream = passer.stub.Stream(iter(self.outgoing.get, None))
        self.taken_away = False
        context.add_callback(self.relay_left)

    def relay_left(self):
        if self.taken_away:
            for message in self.messages[1:]:  # not the hello
                self.outgoing.put(message)
            self.outgoing.put(None)
        else:
            self.upstream.cancel()

    def send(self, message):
        self.messages.append(message)
        self.outgoing.put(message)
        if self.passer.way == "twice" and not message.HasField("hello"):
            self.outgoing.put(message)

    def pass_on(self, incoming):
        held = None  # what is said after the message that comes next
        while True:
            try:
                message = incoming.get(timeout=SWAP_WITHIN_S if held else None)
            except queue.Empty:
                message = None
            if message is StopIteration:
                break
            if message is not None and held is None and self.passer.way == "swapped" and message.HasField("batch"):
                held = message
                continue
            for one in (message, held):
                if one is not None:
                    self.send(one)
            held = None
        if held is not None:
            self.send(held)
        if not self.taken_away:
            self.outgoing.put(None)


class Passer(castscope_pb2_grpc.CollectorServicer):
    def __init__(self, target):
        self.channel = grpc.insecure_channel(target, options=LIMITS)
        self.stub = castscope_pb2_grpc.CollectorStub(self.channel)
        self.way, self.passed = "plain", []
        self.threads = concurrent.futures.ThreadPoolExecutor(64)

    def Stream(self, requests, context):
        passed = Passed(self, context)
        self.passed.append(passed)
        incoming = queue.SimpleQueue()
        self.threads.submit(self.read, requests, incoming)
        self.threads.submit(passed.pass_on, incoming)
        try:
            for answer in passed.upstream:
                if self.way == "late" and not passed.taken_away:
                    passed.taken_away = True
                    context.abort(grpc.StatusCode.UNAVAILABLE, "taken away")
                yield answer
        except grpc.RpcError as error:
            context.set_trailing_metadata(error.trailing_metadata() or ())
            context.abort(error.code(), error.details())

    @staticmethod
    def read(requests, incoming):
        with contextlib.suppress(Exception):
            for message in requests:
                incoming.put(message)
        incoming.put(StopIteration)

    def say_again(self):
        for passed in list(self.passed):
            try:
                for _ in self.stub.Stream(iter(passed.messages)):
                    pass
                yield "OK"
            except grpc.RpcError as error:
                yield f"{error.code().name} {error.details()}"


def main():
    passer = Passer(sys.argv[2])
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(64), options=LIMITS)
    castscope_pb2_grpc.add_CollectorServicer_to_server(passer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    for line in sys.stdin:
        if line.strip() == "again":
            print("\t".join(passer.say_again()), flush=True)
        else:
            passer.way = line.strip()
    server.stop(None)


if __name__ == "__main__":
    main()
