"""The faults of `scripts/faults --upgrade-from REV`: a collector of that commit is replaced by this one, while relays
of that commit or of this one send to it. Everything arrives."""

import functools
import signal
import time

import runs
from faults import kind

ALL = []
kind = functools.partial(kind, kinds=ALL)


def replace(world, number):
    """Ends the collector by this signal, and starts this version's on its folder and at its address."""
    status = world.collector.end(number)
    assert status == (-signal.SIGKILL if number == signal.SIGKILL else 0), world.collector.log
    world.collector.program = runs.CASTSCOPE
    world.collector.start()


@kind("old collector", "old relays")
def kill_collector_of_old_relays(world):
    replace(world, signal.SIGKILL)


@kind("old collector", "old relays")
def stop_collector_of_old_relays(world):
    replace(world, signal.SIGTERM)


@kind("old collector", "new relays")
def kill_collector_of_new_relays(world):
    replace(world, signal.SIGKILL)


@kind("old collector", "new relays")
def stop_collector_of_new_relays(world):
    replace(world, signal.SIGTERM)


@kind("old relays")
def kill_new_collector_of_old_relays(world):
    world.collector.end(signal.SIGKILL)
    world.collector.start()


@kind("old collector", "old relays", "new relays")
def replace_collector_and_kill_the_new_one(world):
    """In the middle of what it has to take up."""
    replace(world, world.chance.choice([signal.SIGKILL, signal.SIGTERM]))
    world.start()
    time.sleep(world.chance.uniform(0, 0.5))
    kill_new_collector_of_old_relays(world)


@kind("old collector", "old relays", "new relays", "real jobs", jobs=(0, 1))
def replace_collector_of_a_real_job(world):
    world.start_real()
    time.sleep(world.chance.uniform(1, 5))
    replace(world, world.chance.choice([signal.SIGKILL, signal.SIGTERM]))
