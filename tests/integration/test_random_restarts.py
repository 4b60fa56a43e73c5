"""Collectors that are killed or stopped at any moment, and connections that are lost: at the end every cast was counted
once, whatever came in between. The sender knows docs/wire.md alone, and counts for itself."""

import random

import pytest
from collectors import define_code, exited

ROUNDS = 40


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


def disturb(collector, relays, chance):
    what = chance.random()
    if what < 0.13:
        collector.kill_and_start_again()
    elif what < 0.15:
        collector.stop()
        collector.start()
    for relay in relays:
        if what < 0.15 or chance.random() < 0.1:
            relay.connect()


@pytest.mark.parametrize("seed", range(4))
def test_every_cast_is_counted_once_whatever_happens_to_the_collector(wire, collector, seed):
    chance, run = random.Random(seed), f"seed-{seed}"
    relays = [Relay(wire, collector, run, name) for name in ("a", "b")]
    processes = [wire.Process(relay, pid) for pid, relay in enumerate(relays * 2, 1)]
    sites = {process.key: define_code(wire, process)[:2] for process in processes}
    casts = hits = 0
    for _ in range(ROUNDS):
        process = chance.choice(processes)
        more_casts, more_hits = work(process, *sites[process.key], chance)
        casts, hits = casts + more_casts, hits + more_hits
        disturb(collector, relays, chance)
    for process in processes:
        process.batch(end=exited(wire), flush=chance.random() < 0.5)
        disturb(collector, relays, chance)
    for relay in relays:
        relay.goodbye()
        relay.wait()
        relay.stream.close()
    report = collector.report(run)
    totals, beyond = report["totals"], report["totals"]["beyond_steps"]
    assert (totals["casts"], totals["cache_hits"], totals["bytes"]) == (casts, hits, 128 * casts)
    assert sum(row["casts"] for row in report["step_runs"]) + beyond["casts"] == casts
    assert sum(row["cache_hits"] for row in report["step_runs"]) + beyond["cache_hits"] == hits
    assert report["run"]["missing"] == [] and report["run"]["complete"]
    assert len(report["processes"]) == len(processes) and totals["events_lost"] == 0
