"""The faults of the campaign: each is done to a world at a moment of its own, and passes."""

import signal
import subprocess
import time


def kill_collector(world, _):
    world.collector.end(signal.SIGKILL)


def restart_collector(world, _):
    assert world.collector.end(signal.SIGTERM) == 0
    world.collector.start()


def kill_job(world, chance):
    chance.choice(world.jobs).kill()


def kill_recorder(world, chance):
    chance.choice(world.jobs).kill_recorder()


def stop_collector_for_a_while(world, chance):
    world.collector.server.send_signal(signal.SIGSTOP)
    time.sleep(chance.uniform(0.1, 1))
    world.collector.server.send_signal(signal.SIGCONT)


def fill_disk(world, _):
    if world.collector.on_small_disk:
        world.collector.fill()


def make_disk_read_only(world, _):
    if world.collector.on_small_disk:
        try:
            world.collector.remount("ro")
        except subprocess.CalledProcessError:  # the kernel refuses while a file is open for writing
            fill_disk(world, _)


def cut_connections(world, _):
    world.proxy.cut()


def refuse_connections(world, _):
    world.proxy.refuses = True
    world.proxy.cut()


def hold_connections(world, chance):
    world.proxy.held.set()
    time.sleep(chance.uniform(0.1, 1))
    world.proxy.held.clear()


def hold_until_healed(world, _):
    world.proxy.held.set()


def flip_a_bit(world, chance):
    """In a message it is noticed, and the message comes again. In what gRPC writes around it, it may look like a
    refusal, which ends what the relay sends."""
    world.may_miss = True
    world.proxy.flips = chance


ALL = [kill_collector, restart_collector, kill_job, kill_recorder, stop_collector_for_a_while, fill_disk,
       make_disk_read_only, cut_connections, refuse_connections, hold_connections, hold_until_healed, flip_a_bit]
