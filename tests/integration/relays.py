"""A relay that speaks docs/wire.md and knows nothing of castscope's code. It sends again what was not acknowledged, and
counts for itself what its processes cast."""

import time


class Relay:
    """A relay that keeps what is not acknowledged, and sends it again. It is the `client` of its processes."""

    def __init__(self, wire, collector, run, name):
        self.wire, self.collector, self.run, self.name = wire, collector, run, name
        self.sequence = self.acknowledged = 0
        self.kept = []  # (number, message), not acknowledged
        self.introductions = {}  # process: what is told of it after a lost connection
        self.ends = {}  # process: the number of the message with its end
        self.stream = None
        self.connect()

    def connect(self):
        if self.stream is not None:
            self.stream.channel.close()
        self.stream = self.wire.Client(self.collector.address, self.run, relay=self.name,
                                       acknowledged=self.acknowledged)
        for key, introduction in self.introductions.items():
            if self.ends.get(key, self.sequence + 1) > self.acknowledged:
                self.stream.send(batch=introduction)
        for _, message in self.kept:
            self.stream.send(**message)

    def put(self, **message):
        self.kept.append((self.sequence, message))
        self.stream.send(**message)

    def batch(self, flush, **parts):
        self.sequence += 1
        batch = self.wire.pb.Batch(sequence=self.sequence, flush=flush, **parts)
        if batch.HasField("process_end"):
            self.ends[batch.process_key] = self.sequence
        introduction = self.introductions.setdefault(batch.process_key, self.wire.pb.Batch(
            process_key=batch.process_key, process_begin=batch.process_begin))
        introduction.plain_definitions.extend(batch.plain_definitions)
        introduction.counters.CopyFrom(batch.counters)
        self.put(batch=batch)

    def goodbye(self):
        self.sequence += 1
        self.put(goodbye=self.wire.pb.Goodbye(sequence=self.sequence, exit_code=0))

    def wait(self):
        while self.acknowledged < self.sequence:
            self.acknowledged = self.stream.receive().ack.sequence
            self.kept = [(number, message) for number, message in self.kept if number > self.acknowledged]

    def wait_through_troubles(self, seconds=300):
        """Tries again whatever keeps the collector from taking it now. Returns what it said meanwhile."""
        said, end = set(), time.monotonic() + seconds
        while True:
            try:
                self.wait()
                return said
            except self.wire.Refused as refused:
                assert refused.code.name == "UNAVAILABLE" and time.monotonic() < end, refused
                said.add(refused.sentence)
            self.connect_through_troubles(said, end)

    def connect_through_troubles(self, said, end):
        while True:
            try:
                return self.connect()
            except self.wire.Refused as refused:
                assert refused.code.name == "UNAVAILABLE" and time.monotonic() < end, refused
                said.add(refused.sentence)


def work(process, region, weight, chance):
    """One stay in a region, in the middle of which all that is new is sent. Returns the casts and hits of it."""
    casts, hits = chance.randint(1, 4), chance.randint(0, 3)
    with process.region(region):
        for _ in range(casts):
            process.cast(weight, source=0x2000, shape=[8, 8], kept=True)
        flush = chance.random() < 0.5
        process.batch(flush=flush)
        for _ in range(hits):
            process.hit(weight, source=0x2000, shape=[8, 8])
    if chance.random() < 0.4:
        process.optimizer_step()
    if flush and chance.random() < 0.5:
        process.client.wait()
    return casts, hits
