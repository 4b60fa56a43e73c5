"""A client of the collector in Python, written from docs/wire.md and castscope.proto alone: it defines what it speaks
of, counts, and sends single events as messages.

castscope_pb2 and castscope_pb2_grpc are made from castscope.proto by grpc_tools.protoc.
"""

import contextlib
import queue
import time

import castscope_pb2 as pb
import castscope_pb2_grpc
import grpc

LOWEST, HIGHEST = 7, 7  # plain definitions and events came with protocol 7
COLUMNS = ("casts", "cache_hits", "pass_throughs", "traced", "bytes", "cpu_ns", "kept")


class Refused(Exception):
    """The collector ended the stream: its status, the reason and the sentence of its refusal."""

    def __init__(self, code, reason, sentence):
        super().__init__(sentence)
        self.code, self.reason, self.sentence = code, reason, sentence


class Client:
    """One relay's stream."""

    def __init__(self, address, run, relay="client", token=None, **hello):
        self.outgoing = queue.SimpleQueue()
        self.channel = grpc.insecure_channel(address)
        self.stream = castscope_pb2_grpc.CollectorStub(self.channel).Stream(
            iter(self.outgoing.get, None), metadata=[("authorization", f"Bearer {token}")] if token else None)
        self.sequence = self.acknowledged = 0
        self.holds = False  # the last answer wanted no events for now
        self.rejections = {}  # process: sentence
        self.send(hello=pb.Hello(**{"lowest_protocol": LOWEST, "highest_protocol": HIGHEST, "run_id": run,
                                    "relay": relay, "castscope_version": "python client", "host": "client-host",
                                    "command": ["client"], "start_epoch_ns": time.time_ns()} | hello))
        self.welcome = self.receive().welcome

    def send(self, **message):
        self.outgoing.put(pb.RelayMessage(**message))

    def receive(self):
        """The next message. A refusal is the last one before the status, whose message is the same sentence."""
        try:
            message = next(self.stream)
            if message.WhichOneof("message") != "refusal":
                return message
            with contextlib.suppress(StopIteration):
                next(self.stream)
        except grpc.RpcError as error:
            raise Refused(error.code(), None, error.details()) from error
        raise AssertionError("a refusal without a status")

    def batch(self, flush=False, **batch):
        """Sends a numbered batch; with `flush` waits until it is durable."""
        self.sequence += 1
        self.send(batch=pb.Batch(sequence=self.sequence, flush=flush, **batch))
        return self.wait(self.sequence) if flush else None

    def wait(self, sequence):
        while self.acknowledged < sequence:
            ack = self.receive().ack
            self.acknowledged, self.holds = ack.sequence, ack.hold_events
            self.rejections |= {rejection.process_key: rejection.sentence for rejection in ack.rejections}

    def goodbye(self, **goodbye):
        self.sequence += 1
        self.send(goodbye=pb.Goodbye(sequence=self.sequence, **goodbye))
        self.wait(self.sequence)

    def close(self):
        self.outgoing.put(None)
        with contextlib.suppress(grpc.RpcError):
            for _ in self.stream:
                pass
        self.channel.close()


class Process:
    """One process of the run with one thread, hence one lane."""

    def __init__(self, client, pid, host="client-host"):
        self.client, self.key, self.lane = client, f"{host}/{pid}/1/0", 1
        self.begin = pb.ProcessBegin(host=host, pid=pid, parent_pid=1, start_ticks=1, start_epoch_ns=time.time_ns())
        self.definitions, self.events, self.counters = [], [], {}
        self.sent = self.step = self.stay = self.stays = self.time_ns = 0
        self.numbers = {}  # kind: last number

    def define(self, kind, message):
        number = self.numbers[kind] = self.numbers.get(kind, 0) + 1
        self.definitions.append(pb.Definition(local_id=number, **{f"define_{kind}": message}))
        return number

    def at(self, file, line, function):
        return self.define("stack", pb.Stack(frames=[pb.Frame(file=file, line=line, function=function)]))

    def attribute(self, name, value):
        self.definitions.append(pb.Definition(define_attribute=pb.Attribute(attribute=name, value=value)))

    def event(self, **what):
        self.time_ns += 1000
        self.events.append(pb.Event(time_in_process_ns=self.time_ns, step=self.step, stay=self.stay, **what))

    def count(self, site, **more):
        row = self.counters.setdefault(site, dict.fromkeys(COLUMNS, 0))
        for column, value in more.items():
            row[column] += value

    @contextlib.contextmanager
    def region(self, number):
        """One stay in an outermost region: autocast's cache is cleared when it is left."""
        self.stays += 1
        self.stay = self.stays
        self.event(region_enter=number)
        yield
        self.event(region_exit=number)
        self.stay = 0
        self.event(cache_clear=pb.CacheClear(cleared_entries=1))

    def cast(self, site, source, shape, item_bytes=2, kept=False, ns=500):
        size = item_bytes
        for length in shape:
            size *= length
        self.count(site, casts=1, bytes=size, cpu_ns=ns, kept=int(kept))
        self.event(cast=pb.Cast(site=site, source_address=source, shape=shape, bytes=size, duration_ns=ns,
                                was_kept=kept))

    def hit(self, site, source, shape):
        self.count(site, cache_hits=1)
        self.event(cache_hit=pb.Cast(site=site, source_address=source, shape=shape))

    def optimizer_step(self):
        self.event(optimizer_step=pb.OptimizerStep())
        self.step += 1
        self.event(step_begin=pb.STEP_REASON_OPTIMIZER)

    def batch(self, end=None, flush=True):
        """Sends all that is new."""
        counters = pb.Counters(lane=[self.lane] * len(self.counters), site=list(self.counters),
                               **{column: [row[column] for row in self.counters.values()] for column in COLUMNS})
        block = [pb.Events(lane=self.lane, first_event=self.sent, event_count=len(self.events),
                           plain_events=self.events)]
        self.sent += len(self.events)
        self.client.batch(process_key=self.key, process_begin=self.begin, plain_definitions=self.definitions,
                          event_blocks=block if self.events else [], counters=counters,
                          lanes=[pb.LaneState(lane=self.lane, tid=1, events_published=self.sent)],
                          gauges=pb.Gauges(present_step=self.step), process_end=end, flush=flush)
        self.begin, self.definitions, self.events = None, [], []
