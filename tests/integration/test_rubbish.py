"""What answers in a collector's place holds up no job's end, and costs nothing: the rest waits on disk, and comes to an
honest collector whole."""

import subprocess

import pytest
from fake_collector import WAIT_S, in_place_of_a_collector
from program import BUILD, clean_environment

REPLAYED = BUILD / "tests" / "faults" / "replayed_job"
CASTS = 1000
BEYOND = 1 << 60


def never_answers(collector, messages):
    list(messages)
    yield from ()


def never_acknowledges(collector, messages):
    yield collector.welcome()
    list(messages)


def acknowledges_what_was_never_sent(collector, messages):
    yield collector.welcome()
    yield collector.acknowledged(BEYOND)
    list(messages)


def answers_without_end(collector, messages):
    yield collector.welcome()
    while True:
        yield collector.acknowledged(0)


def wants_no_events_and_acknowledges_nothing(collector, messages):
    yield collector.welcome()
    for _ in messages:
        yield collector.acknowledged(0, hold_events=True)


TALKS = {never_answers: "no connection to the collector has come about yet",
         never_acknowledges: "did not acknowledge everything",
         acknowledges_what_was_never_sent: "the collector acknowledges what it was never sent",
         answers_without_end: "the collector sends answers without end",
         wants_no_events_and_acknowledges_nothing: "did not acknowledge everything"}


def environment(castscope, name):
    return clean_environment(CASTSCOPE_SPOOL=castscope.folder / name, CASTSCOPE_SPOOL_BYTES="1 MB")


def start(castscope, collector, name):
    return subprocess.Popen([str(castscope.program), "run", "--collector", collector.address, "-o", name, "--",
                             str(REPLAYED), f"{name}.progress", str(CASTS), "3000", "3"], cwd=castscope.folder,
                            env=environment(castscope, name),
                            stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("talk", TALKS, ids=lambda talk: talk.__name__)
def test_what_no_collector_answers_costs_nothing(castscope, wire, collector, talk):
    name = talk.__name__
    with in_place_of_a_collector(wire, lambda fake: lambda hello, messages, context: talk(fake, messages)) as fake:
        job = start(castscope, fake, name)
        _, said = job.communicate(timeout=WAIT_S)
        assert job.returncode == 3 and TALKS[talk] in " ".join(said.split()), said
    file, = (castscope.folder / name).glob("*.spool")
    done = castscope("recover", file, "--collector", collector.address, text=True,
                     env=environment(castscope, name))
    assert done.returncode == 0 and not file.exists(), done.stderr
    report = collector.report(name)
    assert report["run"]["complete"] and report["run"]["missing"] == [] and report["run"]["exit_status"] == 3
    assert report["totals"]["casts"] == CASTS
    process, = report["processes"]
    assert process["events_received"] + process["events_dropped"] == process["events_made"]
