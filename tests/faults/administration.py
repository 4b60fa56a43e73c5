"""Faults of who keeps a collector: tokens, quotas, certificates, settings, what is removed."""

import signal
import time

from faults import kind


def read_again(world):
    world.collector.server.send_signal(signal.SIGHUP)


def pause(world, most_s=0.5):
    time.sleep(world.chance.uniform(0, most_s))


# Tokens.

@kind("tokens")
def take_token_out(world):
    """And put it back, when all passes."""
    world.tokens.know()
    read_again(world)


@kind("tokens", short=False)
def take_role_away(world):
    world.tokens.know(world.tokens.entry("see"))
    read_again(world)


@kind("tokens", short=False)
def replace_token(world):
    """The way that docs/serve.md says, or the old one goes before anybody has the new one."""
    old = world.tokens.entry()
    world.tokens.secret = "another one"
    if world.chance.random() < 0.5:
        world.tokens.know(old, world.tokens.entry(secret="another one") | {"name": "campaign's next"})
        read_again(world)
        pause(world)
        world.tokens.put(world.tokens.sent, "another one\n")
        pause(world)
    world.tokens.know(world.tokens.entry())
    read_again(world)


@kind("tokens")
def write_tokens_in_halves(world):
    """In place: the collector reads one half of its file, and relays one half of theirs."""
    tokens, text, secret = world.tokens, world.tokens.file.read_text(), world.tokens.sent.read_text()
    tokens.file.write_text(text[:world.chance.randrange(len(text))])
    read_again(world)
    tokens.sent.write_text(secret[:world.chance.randrange(len(secret))])
    world.proxy.cut()
    pause(world, 1)
    tokens.file.write_text(text)
    tokens.sent.write_text(secret)
    read_again(world)


@kind("tokens", short=False)
def send_many_hangups(world):
    end = time.monotonic() + world.chance.uniform(0.2, 1)
    while time.monotonic() < end:
        read_again(world)
        if world.chance.random() < 0.1:
            world.tokens.know(world.tokens.entry())
        time.sleep(0.001)


# Quotas.

def limit(world, **quotas):
    """For all runs of the sender that are not over. Those that go on lose their connections."""
    for job in world.jobs:
        job.limited = job.recorder.poll() is None  # one that has ended has delivered all: nothing of it may be missing
    world.tokens.quotas = quotas
    world.tokens.know(world.tokens.entry())
    read_again(world)
    world.collector.wait_until_logged("the tokens were read again")
    world.proxy.cut()


def start_limited(world, casts, per_second):
    job = world.start(casts, per_second)
    job.limited = True
    return job


@kind("tokens", short=False)
def lower_events_a_second(world):
    limit(world, events_per_second=world.chance.randint(1, 50))
    start_limited(world, 15_000, 3000).drops = True


@kind("tokens")
def lower_bytes_of_a_run(world):
    limit(world, bytes_per_run=world.chance.choice([1000, 280_000]))
    start_limited(world, 4000, 2000)


@kind("tokens", jobs=(2, 4), short=False)
def lower_runs_at_once(world):
    limit(world, open_runs=1)
    for job in world.jobs:
        job.wait()  # else one of them may have the place
    first = start_limited(world, 5000, 1000)
    world.collector.wait_until_logged(f"{first.name}.castscope: ")
    start_limited(world, 5000, 5000).drops = True


# Certificates.

@kind("tls", short=False)
def replace_certificate(world):
    """In place, the certificate and then its key: whoever looks in between finds two that do not fit."""
    world.certificates.issue()
    pause(world)
    world.proxy.cut()


@kind("tls", short=False)
def show_a_certificate_of_another_authority(world):
    world.certificates.issue_foreign()
    assert world.collector.end(signal.SIGTERM) == 0
    world.collector.start()


# Settings, and what is removed.

@kind("settings file")
def break_settings(world):
    """The collector does not start with them, says where the mistake is, and leaves everything as it is."""
    world.collector.end(signal.SIGKILL)
    text = world.settings.read_text()
    broken = world.chance.choice([text[:-2], text.replace('"folder"', '"foldr"'), "", text + "}"])
    world.settings.write_text(broken)
    status, said = world.collector.try_to_start()
    assert status == 2 and "serve.json:" in said, said
    world.settings.write_text(text)


@kind()
def remove_all_that_is_over(world):
    """A run that goes on, or may go on, is not removed, however little room there may be."""
    over = world.start(100, 30_000)
    over.wait()
    assert world.collector.end(signal.SIGTERM) == 0
    world.collector.make_older(f"{over.name}.castscope")
    over.removed = True
    world.collector.options = ["--keep-bytes", "1"]
    world.collector.start()
    world.collector.options = []
    read_again(world)
    world.collector.wait_until_logged("was removed, as the retention says")
