"""Collectors that are killed or stopped at any moment, and connections that are lost: at the end every cast was counted
once, whatever came in between. The sender knows docs/wire.md alone, and counts for itself."""

import random

import pytest
from collectors import define_code, exited
from relays import Relay, work

ROUNDS = 40


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
