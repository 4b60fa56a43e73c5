"""The faults of the campaign: each is done to a world at a moment of its own, and passes."""

import contextlib
import dataclasses
import signal
import subprocess
import time
import typing

import collector
import damage
import jobs
import network
import stream_proxy
import system_calls

TROUBLES = {"network": network.trouble, "system calls": system_calls.trouble, "certificates": system_calls.trouble,
            "messages": stream_proxy.trouble, "small disk": collector.trouble}
# What is made once for all worlds that have it.
PREPARATIONS = {"messages": stream_proxy.make_stubs, "real jobs": jobs.find_known}
HOUR_S = 3600
ALL = []


@dataclasses.dataclass(frozen=True)
class Kind:
    act: typing.Callable
    has: tuple  # what its world has
    jobs: tuple  # how many, at least and at most
    short: bool  # scripts/test has it, too

    @property
    def name(self):
        return self.act.__name__

    def trouble(self):
        """Why it cannot be done here; "" where it can."""
        return " ".join(filter(None, (TROUBLES[word]() for word in self.has if word in TROUBLES)))


def kind(*has, jobs=(1, 4), short=True, kinds=ALL):
    def add(act):
        kinds.append(Kind(act, has, jobs, short))
        return act
    return add


# Processes that are killed or stand still.

@kind()
def kill_collector(world):
    world.collector.end(signal.SIGKILL)


@kind()
def restart_collector(world):
    assert world.collector.end(signal.SIGTERM) == 0
    world.collector.start()


@kind()
def kill_job(world):
    world.chance.choice(world.jobs).kill()


@kind()
def kill_recorder(world):
    world.chance.choice(world.jobs).kill_recorder()


@kind(short=False)
def kill_recorder_and_recover(world):
    """And that as often as somebody tries again, while the job runs and when it has ended."""
    job = world.chance.choice(world.jobs)
    job.kill_recorder()
    job.recorder.wait()
    world.kill_recover()
    world.unhealed.append(world.kill_recover)


@kind(short=False)
def stop_collector_for_a_while(world):
    world.collector.server.send_signal(signal.SIGSTOP)
    time.sleep(world.chance.uniform(0.1, 1))
    world.collector.server.send_signal(signal.SIGCONT)


# The collector's disk.

@kind("small disk")
def fill_disk(world):
    if world.collector.on_small_disk:
        world.collector.fill()


@kind("small disk", short=False)
def make_disk_read_only(world):
    try:
        world.collector.remount("ro")
    except subprocess.CalledProcessError:  # the kernel refuses while a file is open for writing
        fill_disk(world)


@kind("system calls")
def make_syncs_slow(world):
    world.calls.come_out(sync_ms=500)
    time.sleep(world.chance.uniform(0, 2))


@kind("system calls")
def make_syncs_fail(world):
    """As long as they do, nothing is acknowledged: it may not be on the disk."""
    running = [job for job in world.jobs if job.pid()]
    world.calls.come_out(syncs_fail=True)
    time.sleep(world.chance.uniform(0, 1))

    def nothing_is_kept():
        for job in running:
            assert "is kept by the collector" not in job.said, f"{job.name}: {job.said}"
    world.unhealed.append(nothing_is_kept)


# Connections through a proxy.

@kind()
def cut_connections(world):
    world.proxy.cut()


@kind(short=False)
def refuse_connections(world):
    world.proxy.refuses = True
    world.proxy.cut()


@kind(short=False)
def hold_connections(world):
    world.proxy.held.set()
    time.sleep(world.chance.uniform(0.1, 1))
    world.proxy.held.clear()


@kind()
def hold_until_healed(world):
    world.proxy.held.set()


@kind()
def flip_a_bit(world):
    """In a message it is noticed, and the message comes again. In what gRPC writes around it, it may look like a
    refusal, which ends what the relay sends."""
    world.may_miss = True
    world.proxy.flips = world.chance


# A network, with TLS.

@kind("network")
def cut_link(world):
    world.network.set_link(world.chance.choice([network.JOBS, network.COLLECTOR]), "down")


@kind("network", short=False)
def delay_packets(world):
    world.network.late_s = (0.05, world.chance.uniform(0.05, 0.3))


@kind("network")
def lose_packets(world):
    world.network.lost = world.chance.uniform(0.02, 0.3)


@kind("network", short=False)
def reorder_packets(world):
    world.network.late_s, world.network.twice = (0, world.chance.uniform(0.01, 0.1)), 0.2


@kind("network")
def silence_one_side(world):
    """The connection is half open: one side sends, and does not hear what the other one answers."""
    world.network.silent = world.chance.choice([network.JOBS, network.COLLECTOR])


@kind("network", short=False)
def lose_collector_unheard(world):
    """The relays' connections stay open to a collector that is no more, since nobody tells them."""
    world.network.silent = network.COLLECTOR
    world.collector.end(signal.SIGKILL)
    world.collector.start()
    time.sleep(world.chance.uniform(0, 0.5))
    world.network.silent = None


@kind("certificates", short=False)
def let_certificate_expire(world):
    """Who is connected stays so; who comes then is refused, until a new certificate is there."""
    time.sleep(max(0, world.certificates.left_s() + 1))
    job = world.start()
    job.wait()
    assert "expired" in job.said, f"{job.name}: {job.said}"


# What is said on the wire.

@kind("messages")
def say_messages_twice(world):
    world.stream_proxy.say("twice")


@kind("messages")
def say_messages_in_another_order(world):
    """What comes after a gap is refused, and the report says that."""
    world.may_miss = True
    world.stream_proxy.say("swapped")


@kind("messages", short=False)
def say_old_messages_beside_new_ones(world):
    world.stream_proxy.say("late")


@kind("messages")
def say_everything_again_after_the_end(world):
    def again():
        endings = world.stream_proxy.say_again()
        assert set(endings) == {"OK"}, endings
    world.later.append(again)


# Clocks and memory.

@kind("system calls")
def set_clock_of_collector(world):
    for _ in range(2):
        world.calls.come_out(clock_s=world.chance.randint(-30 * HOUR_S, 30 * HOUR_S))
        time.sleep(world.chance.uniform(0, 0.5))


@kind("system calls", "clock of relays", short=False)
def set_clock_of_relays(world):
    world.relay_calls.come_out(clock_s=world.chance.randint(-30 * HOUR_S, 30 * HOUR_S))
    world.start()


@kind("system calls", "clock of jobs")
def set_clock_of_jobs(world):
    world.job_calls.come_out(clock_s=world.chance.randint(-30 * HOUR_S, 30 * HOUR_S))
    world.start()


@kind()
def overwrite_rings(world):
    for _ in range(world.chance.randint(1, 5)):
        job = world.chance.choice(world.jobs)
        for segment in (path for folder in job.run_directories() for path in folder.glob("*.lanes")):
            with contextlib.suppress(FileNotFoundError):  # the job has just ended
                damage.overwrite_rings(segment, world.chance)
                job.damaged = True


# Many jobs, and real ones.

SMALL = [kill_collector, restart_collector, stop_collector_for_a_while, fill_disk, cut_connections, refuse_connections,
         hold_connections, hold_until_healed]


@kind("crowd", jobs=(64, 64), short=False)
def something_small_to_64_jobs(world):
    world.chance.choice(SMALL)(world)


@kind("real jobs", jobs=(0, 1))
def something_small_to_a_real_job(world):
    world.start_real()
    time.sleep(world.chance.uniform(0, 4))
    world.chance.choice(SMALL)(world)
