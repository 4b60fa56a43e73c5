"""What a collector did not take waits on disk, and comes home later, once."""

import fcntl
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from program import clean_environment
from work import WORK, assert_worked

# The job works, waits for a line, and works again.
IN_TWO_PARTS = WORK + """
work(3)
print(os.environ["CASTSCOPE_RUN"], flush=True)
sys.stdin.readline()
work(4)
"""


@pytest.fixture
def spool(castscope):
    return castscope.folder / "spool"


@pytest.fixture
def send(castscope, spool, collector):
    """Starts a job whose run goes to the collector, and returns it when it has done its first part."""
    def start(python, code=IN_TWO_PARTS, **environment):
        environment = clean_environment(CASTSCOPE_SPOOL=spool, CASTSCOPE_SPOOL_BYTES="1 MB", **environment)
        job = subprocess.Popen([str(castscope.program), "run", "--collector", collector.address, "-o", "sent", "--",
                                python, "-c", code], cwd=castscope.folder, env=environment, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        job.directory = job.stdout.readline().strip()
        return job
    return start


def recover(castscope, spool, *arguments):
    return castscope("recover", *arguments, text=True,
                     env=clean_environment(CASTSCOPE_SPOOL=spool, CASTSCOPE_SPOOL_BYTES="1 MB"))


def until(condition):
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_what_a_collector_did_not_take_comes_home_later(castscope, python, collector, send, spool):
    job = send(python)
    until(lambda: list(collector.folder.glob("sent.castscope")))
    collector.server.kill()
    collector.server.communicate()
    _, said = job.communicate("\n", timeout=300)
    assert job.returncode == 0
    file, = spool.iterdir()
    assert f"what it lacks is kept in {file}, and `castscope recover` sends it" in " ".join(said.split())
    assert not os.path.exists(job.directory) and file.stat().st_mode & 0o777 == 0o600
    listed = recover(castscope, spool)
    assert str(file) in listed.stdout and f"goes to   the collector at {collector.address}" in listed.stdout
    failed = recover(castscope, spool, file)
    assert failed.returncode == 3 and "is still there: no connection to the collector" in failed.stderr
    collector.start()
    done = recover(castscope, spool, file)
    assert done.returncode == 0, done.stderr
    assert list(spool.iterdir()) == []
    report = collector.report("sent")
    assert_worked(report, 7)
    assert report["run"]["complete"] and report["run"]["missing"] == [] and report["totals"]["events_lost"] == 0
    assert report["run"]["exit_status"] == 0


def test_a_run_whose_recorder_was_killed_goes_on_at_its_collector(castscope, python, collector, send, spool):
    job = send(python)
    until(lambda: list(collector.folder.glob("sent.castscope")))
    job.send_signal(signal.SIGKILL)
    job.wait()
    job.stdin.write("\n")
    job.stdin.close()
    until(lambda: not [pid for pid in re.findall(r"^(\d+)\.attached$", "\n".join(os.listdir(job.directory)), re.M)
                       if os.path.exists(f"/proc/{pid}")])
    done = recover(castscope, spool, job.directory)
    assert done.returncode == 0, done.stderr
    assert f"the run is kept by the collector at {collector.address}" in done.stderr
    assert not os.path.exists(job.directory)
    report = collector.report("sent")
    assert_worked(report, 7)
    assert report["run"]["complete"] and report["run"]["missing"] == [] and report["totals"]["events_lost"] == 0


def test_the_rest_of_a_run_does_not_overtake_what_another_castscope_sends_of_it(castscope, python, collector, send,
                                                                               spool):
    job = send(python)
    until(lambda: list(collector.folder.glob("sent.castscope")))
    job.send_signal(signal.SIGKILL)
    job.wait()
    job.stdin.close()
    job.stdout.read()
    spool.mkdir()
    with open(spool / f"{os.path.basename(job.directory)}.relay.spool", "w", encoding="utf-8") as sent_by_another:
        fcntl.flock(sent_by_another, fcntl.LOCK_EX)
        done = recover(castscope, spool, job.directory)
        assert done.returncode == 3 and f"{sent_by_another.name}: another castscope is at work with it" in done.stderr
    assert os.path.exists(job.directory)
    assert recover(castscope, spool, job.directory).returncode == 0


def test_a_recorder_that_was_killed_while_its_collector_was_away_loses_nothing(castscope, python, collector, send,
                                                                              spool):
    """Who goes on for it cannot know its numbers then: the segments stay until the collector tells them."""
    job = send(python)
    until(lambda: list(collector.folder.glob("sent.castscope")))
    job.send_signal(signal.SIGKILL)
    job.wait()
    collector.server.kill()
    collector.server.communicate()
    job.stdin.write("\n")
    job.stdin.close()
    job.stdout.read()
    failed = recover(castscope, spool, job.directory)
    assert failed.returncode == 3 and os.path.exists(job.directory) and not list(spool.glob("*"))
    assert f"what the collector did not take stays in {job.directory}" in failed.stderr
    assert "could not be read" not in failed.stderr
    collector.start()
    done = recover(castscope, spool, job.directory)
    assert done.returncode == 0, done.stderr
    report = collector.report("sent")
    assert_worked(report, 7)
    assert report["run"]["complete"]


def test_what_is_withheld_too_late_is_refused_and_nothing_of_the_run_is_sent(castscope, python, collector, send, spool):
    job = send(python)
    until(lambda: list(collector.folder.glob("sent.castscope")))
    job.send_signal(signal.SIGKILL)
    job.wait()
    job.stdin.close()
    job.stdout.read()
    refused = recover(castscope, spool, "--redact", "work", job.directory)
    assert refused.returncode == 2 and "--redact and --no-source come too late" in refused.stderr, refused
    assert os.path.exists(job.directory)
    done = recover(castscope, spool, "--redact", "work", "-o", "here", job.directory)
    assert f"recovered {castscope.folder}/here.castscope" in done.stderr, done
    assert b"work(" not in (castscope.folder / "here.castscope").read_bytes()


def test_a_file_of_the_rest_says_that_the_beginning_is_elsewhere(castscope, python, collector, send, spool):
    job = send(python)
    until(lambda: list(collector.folder.glob("sent.castscope")))
    job.send_signal(signal.SIGKILL)
    job.wait()
    job.stdin.close()
    job.stdout.read()
    done = recover(castscope, spool, "-o", "here", job.directory)
    assert done.returncode == 3 and "recovered" in done.stderr, done
    report = castscope.report("here")
    assert not report["run"]["complete"]
    assert any(f"what the collector at {collector.address} had taken" in one["sentence"]
               for one in report["run"]["missing"]), (report["run"]["missing"], done.stderr)


def test_a_folder_that_is_there_already_stays_as_it_is(castscope, spool):
    """It may be /tmp, or one that others share; what they have in it is not counted."""
    spool.mkdir()
    spool.chmod(0o1777)
    if os.geteuid() == 0:
        (spool / "theirs.spool").write_bytes(bytes(2_000_000))
        os.chown(spool / "theirs.spool", 65534, 65534)
    job = castscope.program.parent / "tests/faults/replayed_job"
    environment = clean_environment(CASTSCOPE_SPOOL=spool, CASTSCOPE_SPOOL_BYTES="1 MB")
    castscope("run", "--collector", "unix:/nowhere/at/all", "--", job, "progress", "10", "1000", "0", env=environment)
    assert spool.stat().st_mode & 0o7777 == 0o1777
    ours, = spool.glob("run-*.spool")
    assert ours.stat().st_mode & 0o777 == 0o600


def test_the_folder_is_made_for_its_user_alone(castscope, spool):
    job = castscope.program.parent / "tests/faults/replayed_job"
    environment = clean_environment(CASTSCOPE_SPOOL=f"{spool}/of/mine/", CASTSCOPE_SPOOL_BYTES="1 MB")
    castscope("run", "--collector", "unix:/nowhere/at/all", "--", job, "progress", "10", "1000", "0", env=environment)
    folders = [spool, spool / "of", spool / "of/mine"]
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700] * 3
    assert len(list(folders[-1].glob("*.spool"))) == 1


def lines_about(text, done):
    return [line for line in done.stderr.splitlines() if text in line]


@pytest.mark.parametrize("amount", ["abc", "-1", "1e3"])
def test_an_amount_that_is_none_is_named_once(castscope, spool, amount):
    job = castscope.program.parent / "tests/faults/replayed_job"
    environment = clean_environment(CASTSCOPE_SPOOL=spool, CASTSCOPE_SPOOL_BYTES=amount)
    done = castscope("run", "--collector", "unix:/nowhere/at/all", "--", job, "progress", "10", "1000", "0",
                     env=environment, text=True)
    said, = lines_about("CASTSCOPE_SPOOL_BYTES", done)
    assert said == (f"castscope: CASTSCOPE_SPOOL_BYTES is `{amount}`, which is not an amount of bytes, such as 500 "
                    "MB: it is ignored, and 1 GB counts")
    assert len(list(spool.glob("*.spool"))) == 1


@pytest.fixture
def file(castscope, spool):
    """What a job whose collector nobody could reach left in the spool."""
    environment = clean_environment(CASTSCOPE_SPOOL=spool, CASTSCOPE_SPOOL_BYTES="1 MB")
    castscope("run", "--collector", "unix:/nowhere/at/all", "-o", "sent", "--",
              castscope.program.parent / "tests/faults/replayed_job", "progress", "900", "30000", "0", env=environment)
    file, = spool.glob("*.spool")
    return file


def test_a_file_that_nobody_fetched_for_a_month_makes_room_and_that_is_said(castscope, spool, file):
    month_ago = time.time() - 31 * 86_400
    os.utime(file, (month_ago, month_ago))
    done = castscope("run", "--collector", "unix:/nowhere/at/all", "-o", "later", "--",
                     castscope.program.parent / "tests/faults/replayed_job", "progress", "10", "1000", "0", text=True,
                     env=clean_environment(CASTSCOPE_SPOOL=spool, CASTSCOPE_SPOOL_BYTES="1 MB"))
    said, = lines_about("was deleted", done)
    assert said.startswith(f"castscope: {file} was deleted to make room: nobody has sent it for 30 days (run ")
    assert "for the collector at unix:/nowhere/at/all" in said and "CASTSCOPE_SPOOL_BYTES" not in done.stderr
    left, = spool.glob("*.spool")
    assert left != file


def test_a_file_of_the_spool_is_sent_from_anywhere(castscope, collector, spool, file):
    file.rename(castscope.folder / "moved")
    done = recover(castscope, spool, "moved", "--collector", collector.address)
    assert done.returncode == 0, done.stderr
    assert not (castscope.folder / "moved").exists()
    report = collector.report("sent")
    assert report["run"]["complete"] and report["totals"]["casts"] == 900


@pytest.mark.parametrize("cut", [False, True])
def test_what_cannot_be_read_of_a_file_of_the_spool_is_said(castscope, collector, spool, file, cut):
    content = bytearray(file.read_bytes())
    if cut:
        del content[-3:]
    else:
        content[-3] ^= 1
    file.write_bytes(content)
    assert recover(castscope, spool, file.name, "--list").returncode == 0
    done = recover(castscope, spool, file.name, "--collector", collector.address)
    said = " ".join(done.stderr.split())
    assert done.returncode == 3 and "the collector has taken what comes before" in said, done
    assert f"{file} {'was cut short' if cut else 'is damaged'} after" in said
    assert [left.name for left in spool.iterdir()] == [f"{file.name}.damaged"]
    assert not collector.report("sent")["run"]["complete"]


def test_a_directory_is_recovered_by_one_at_a_time(castscope, spool):
    recorder = subprocess.Popen([str(castscope.program), "run", "--", castscope.program.parent /
                                 "tests/faults/replayed_job", "progress", "1", "1000", "0"], cwd=castscope.folder,
                                env=clean_environment(), stderr=subprocess.DEVNULL, process_group=0)
    until((castscope.folder / "progress").exists)
    os.kill(recorder.pid, signal.SIGSTOP)
    directory, = pathlib.Path(f"/dev/shm/castscope-{os.getuid()}").glob(f"run-*-*-{recorder.pid}")
    recorder.kill()
    recorder.wait()
    held = os.open(directory, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    refused = recover(castscope, spool, directory)
    assert refused.returncode == 3 and f"{directory} is being recovered by another castscope" in refused.stderr
    os.close(held)
    assert recover(castscope, spool, directory).returncode == 0
    assert not directory.exists()
