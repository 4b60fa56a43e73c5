"""A run that comes home out of its run directory alone: what its recorder knew, and no segment tells, is known then."""

import os
import shlex
import signal
import subprocess
import sys

import pytest
from fake_collector import in_place_of_a_collector, number_of
from program import CAN_MOUNT, clean_environment
from work import WORK, assert_worked

JOB = shlex.join([sys.executable, "-c", WORK + "work(3)"])
OTHER_USER = f"setpriv --reuid=65534 --clear-groups {JOB}"
# One process of it is not recorded; it ends with 3, when it has read a line.
PARTLY_RECORDED = f"echo $CASTSCOPE_RUN; {JOB}; {OTHER_USER}; read line; exit 3"

only_root = pytest.mark.skipif(not CAN_MOUNT, reason="only root can become another user")


class Left:
    """Starts the job, and says what was left of it. `environment` is that of castscope and of the job."""

    def __init__(self, castscope, code, *options, **environment):
        self.environment = clean_environment(CASTSCOPE_SPOOL=castscope.folder / "spool", **environment)
        self.castscope = castscope
        self.process = subprocess.Popen([str(castscope.program), "run", "-o", "sent", *options, "--", "sh", "-c", code],
                                        cwd=castscope.folder, env=self.environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.directory = self.process.stdout.readline().strip()

    def read_until(self, words):
        for line in self.process.stderr:
            if words in line:
                return
        raise AssertionError(f"castscope did not say: {words}")

    def end(self):
        said = self.process.communicate("\n", timeout=300)[1]
        return self.process.returncode, " ".join(said.split())

    def kill_the_recorder(self):
        self.read_until("runs as user 65534")
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.communicate("\n", timeout=300)  # until the job, too, has closed its streams

    def recover(self, *options):
        return self.castscope("recover", self.directory, *options, env=self.environment, text=True)


def assert_one_is_missing(run):
    assert run["complete"] is False
    missing, = run["missing"]
    assert missing["incomplete_reason"] == "process_unrecorded" and "runs as user 65534" in missing["sentence"]


@pytest.fixture
def away(collector):
    """The address of a collector that is not there yet."""
    collector.stop()
    return collector.address


@only_root
def test_who_was_not_recorded_and_the_jobs_end_come_home_without_a_spool(castscope, collector, away):
    left = Left(castscope, PARTLY_RECORDED, "--collector", away, CASTSCOPE_SPOOL_BYTES="0")
    status, said = left.end()
    assert status == 3 and f"`castscope recover {left.directory}` goes on with what is left" in said
    collector.start()
    done = left.recover()
    assert done.returncode == 0 and not os.path.exists(left.directory), done.stderr
    report = collector.report("sent")
    assert_worked(report, 3)
    assert_one_is_missing(report["run"])
    assert report["run"]["exit_status"] == 3
    assert collector.check("sent").returncode == 3


@only_root
def test_a_recorder_that_was_killed_has_left_who_was_not_recorded_for_the_collector(castscope, collector):
    left = Left(castscope, PARTLY_RECORDED, "--collector", collector.address)
    left.kill_the_recorder()
    assert left.recover().returncode == 0
    report = collector.report("sent")
    assert_worked(report, 3)
    assert_one_is_missing(report["run"])
    assert report["run"]["exit_status"] is None  # nobody waited for the job


@only_root
def test_a_recorder_that_was_killed_has_left_who_was_not_recorded_for_the_run_file(castscope):
    left = Left(castscope, PARTLY_RECORDED)
    left.kill_the_recorder()
    done = left.recover()
    assert done.returncode == 3, done.stderr
    report = castscope.report("sent")
    assert_worked(report, 3)
    assert_one_is_missing(report["run"])


@only_root
def test_a_job_of_which_nothing_was_recorded_is_no_empty_run(castscope, collector, away):
    left = Left(castscope, f"echo $CASTSCOPE_RUN; {OTHER_USER}", "--collector", away, CASTSCOPE_SPOOL_BYTES="1 MB")
    said = left.end()[1]
    assert "nothing was cast in it" not in said, said
    assert "`castscope recover` sends it" in said, said
    collector.start()
    file, = (castscope.folder / "spool").iterdir()
    done = castscope("recover", file, env=left.environment, text=True)
    assert done.returncode == 0, done.stderr
    assert_one_is_missing(collector.report("sent")["run"])


def test_the_end_alone_is_sent_later(wire, castscope):
    """The collector has taken all but the goodbye, and there is no spool."""
    goodbyes, taken = [], [0]

    def all_but_the_first_end(fake):
        def talk(hello, messages, context):
            yield fake.welcome()
            for message in messages:
                is_end = message.WhichOneof("message") == "goodbye"
                if is_end:
                    goodbyes.append(message.goodbye)
                if (number := number_of(message)) and not (is_end and len(goodbyes) == 1):
                    taken.append(number)
                if number == taken[-1] or message.WhichOneof("message") == "ask":
                    yield fake.acknowledged(taken[-1])
        return talk

    job = castscope.program.parent / "tests/faults/replayed_job"
    with in_place_of_a_collector(wire, all_but_the_first_end) as fake:
        left = Left(castscope, f"echo $CASTSCOPE_RUN; {job} progress 10 1000 0; exit 5", "--collector", fake.address,
                    CASTSCOPE_SPOOL_BYTES="0")
        status, said = left.end()
        assert status == 5 and f"`castscope recover {left.directory}` goes on with what is left" in said
        done = left.recover()
    assert done.returncode == 0 and not os.path.exists(left.directory), done.stderr
    first, again = goodbyes
    assert (first.exit_code, again.exit_code) == (5, 5)
    assert not first.missing and not again.missing
