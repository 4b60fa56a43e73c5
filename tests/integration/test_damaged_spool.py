"""What cannot be read of a file of the spool is said, and stays where somebody may look into it."""

import fcntl
import os
import subprocess
import time

import pytest
from fake_collector import in_place_of_a_collector, put_spool
from program import clean_environment
from test_recover import mounts_work


@pytest.fixture
def spool(castscope):
    return castscope.folder / "spool"


@pytest.fixture
def taking(wire):
    """A collector that takes everything."""
    def make_talk(fake):
        def talk(hello, messages, context):
            yield fake.welcome()
            yield from fake.take_all(messages)
        return talk

    with in_place_of_a_collector(wire, make_talk) as fake:
        yield fake


@pytest.fixture
def file(wire, spool, taking):
    """The end of a run, in one message."""
    return put_spool(wire.pb, spool, "run", taking.address)


def recover(castscope, spool, *arguments):
    done = castscope("recover", *arguments, text=True,
                     env=clean_environment(CASTSCOPE_SPOOL=spool, CASTSCOPE_SPOOL_BYTES="1 MB"))
    done.said = " ".join(done.stderr.split())
    return done


def record(content, kind):
    """Where the first record of that kind begins."""
    at = len(b"castscope spool 1\n")
    while content[at + 8:at + 9] != kind:
        at += 8 + int.from_bytes(content[at:at + 4], "little")
    return at


def lengthen(content, kind):
    content[record(content, kind) + 2] ^= 0x10


def cut_within(content, kind):
    del content[record(content, kind) + 10:]


def damage(file, how, kind):
    content = bytearray(file.read_bytes())
    how(content, kind)
    file.write_bytes(content)
    return bytes(content)


@pytest.mark.parametrize("how", [lengthen, cut_within])
def test_where_no_message_can_be_read_nothing_is_sent_and_all_stays(castscope, spool, taking, file, how):
    content = damage(file, how, b"m")
    done = recover(castscope, spool, file)
    assert done.returncode == 3 and "has taken" not in done.said and taking.heard == []
    assert f"{file} was cut short after" in done.said
    assert "no message comes before, so nothing was sent to a collector, and" in done.said
    assert f"and what cannot be read is in {file}.damaged" in done.said
    left, = spool.iterdir()
    assert left.name == f"{file.name}.damaged" and left.read_bytes() == content


def test_a_file_without_a_message_is_deleted_and_nobody_is_said_to_have_taken_it(castscope, spool, taking, file):
    content = file.read_bytes()
    file.write_bytes(content[:record(content, b"m")])
    done = recover(castscope, spool, file)
    assert done.returncode == 0 and taking.heard == [] and list(spool.iterdir()) == []
    assert f"{file} held no message for a collector: it was deleted" in done.said and "has taken" not in done.said


def test_a_damaged_file_takes_no_other_ones_place(castscope, spool, file):
    earlier = spool / f"{file.name}.damaged"
    earlier.write_text("an earlier one")
    damage(file, cut_within, b"m")
    assert f"what cannot be read is in {earlier}-2" in recover(castscope, spool, file).said
    assert earlier.read_text() == "an earlier one" and (spool / f"{earlier.name}-2").exists()


def test_a_file_that_was_sent_and_cannot_be_deleted_is_said(castscope, spool, taking, file):
    spool.chmod(0o555)
    without_rights = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    done = subprocess.run([*without_rights, str(castscope.program), "recover", str(file)], capture_output=True,
                          text=True, env=clean_environment(CASTSCOPE_SPOOL=spool), timeout=300, check=False)
    spool.chmod(0o700)
    said = " ".join(done.stderr.split())
    assert done.returncode == 3 and taking.heard != [] and file.exists(), done
    assert "is still there: the collector has taken all of it that can be read, but" in said
    assert f"{file} cannot be deleted: Permission denied" in said


def test_a_name_of_two_lines_is_said_on_one(castscope, spool, file):
    file = file.rename(spool / "two\nlines.spool")
    done = recover(castscope, spool, file)
    assert done.returncode == 0 and len(done.stderr.splitlines()) == 1, done.stderr


@pytest.fixture
def headless(spool):
    """A file of castscope that does not say whose it is, beside one that is somebody else's."""
    spool.mkdir(mode=0o700)
    (spool / "other.spool").write_text("something else")
    file = spool / "mine.spool"
    file.write_text("castscope spool 1\nnonsense")
    return file


needs_root = pytest.mark.skipif(not mounts_work(), reason="needs root, for a /dev/shm of its own: --all takes it all")


def recover_alone(castscope, spool, *arguments):
    """Where nothing else is left over."""
    script = 'mount -t tmpfs none /dev/shm && exec "$@"'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", castscope.program, "recover", *arguments],
                          env=clean_environment(CASTSCOPE_SPOOL=spool, CASTSCOPE_SPOOL_BYTES="1 MB"), text=True,
                          capture_output=True, timeout=300, check=False)
    done.said = " ".join(done.stderr.split())
    return done


@needs_root
def test_a_file_that_does_not_say_whose_it_is_is_listed_and_no_strange_one(castscope, spool, headless):
    done = recover_alone(castscope, spool)
    assert done.returncode == 0 and "nothing to recover" not in done.said, done
    assert done.stdout.splitlines() == [
        str(headless), f"  damaged   {headless} is damaged: it does not say whose it is and where it is to go"]


@needs_root
def test_all_cannot_be_sent_where_a_file_does_not_say_whose_it_is(castscope, spool, taking, wire, headless):
    whole = put_spool(wire.pb, spool, "run", taking.address)
    done = recover_alone(castscope, spool, "--all")
    assert done.returncode == 3 and not whole.exists() and headless.exists(), done
    assert f"the collector has taken what waited in {whole}" in done.said
    assert f"it cannot be sent; `castscope recover --discard {headless}` deletes it" in done.said


@needs_root
def test_all_that_is_deleted_is_castscopes(castscope, spool, headless):
    done = recover_alone(castscope, spool, "--all", "--discard")
    assert done.returncode == 0 and f"deleted {headless}" in done.said, done
    assert [left.name for left in spool.iterdir()] == ["other.spool"]


def test_a_file_that_does_not_say_whose_it_is_is_deleted_by_its_name(castscope, spool, headless):
    assert recover(castscope, spool, headless).returncode == 3 and headless.exists()
    done = recover(castscope, spool, "--discard", headless.name)
    assert done.returncode == 0 and f"deleted {headless}" in done.said and not headless.exists(), done
    strange = recover(castscope, spool, "--discard", spool / "other.spool")
    assert strange.returncode == 3 and "is no spool of castscope" in strange.said
    assert (spool / "other.spool").exists()


def test_old_ones_make_room_whatever_is_damaged(castscope, wire, spool, taking, headless):
    damaged = put_spool(wire.pb, spool, "run", taking.address)
    damage(damaged, cut_within, b"m")
    month_ago = time.time() - 31 * 86_400
    for file in (headless, damaged, spool / "other.spool"):
        os.utime(file, (month_ago, month_ago))
    done = castscope("run", "--collector", "unix:/nowhere/at/all", "--", castscope.program.parent /
                     "tests/faults/replayed_job", "progress", "10", "1000", "0", text=True,
                     env=clean_environment(CASTSCOPE_SPOOL=spool, CASTSCOPE_SPOOL_BYTES="1 MB"))
    for file, whose in ((headless, "it was damaged, and did not say whose it was"),
                        (damaged, f"run run, for the collector at {taking.address}")):
        assert (f"{file} was deleted to make room: nobody has sent it for 30 days ({whose})"
                in " ".join(done.stderr.split())), done
    assert [left.name for left in spool.iterdir() if not left.name.startswith("run-")] == ["other.spool"]


@pytest.fixture
def held(file):
    """As if another castscope was at work with it."""
    with open(file, "rb") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield file


@needs_root
@pytest.mark.parametrize("words", [[], ["--all"], ["--all", "--discard"]])
def test_what_another_castscope_sends_is_said_and_left_alone(castscope, spool, held, words):
    done = recover_alone(castscope, spool, *words)
    assert done.returncode == 0 and held.exists() and "nothing to recover" not in done.said, done
    assert f"{held} is left alone: another castscope sends it, or records the job that it belongs to" in done.said


def test_what_another_castscope_sends_is_in_use_by_its_name_too(castscope, spool, held):
    done = recover(castscope, spool, held.name)
    assert done.returncode == 3 and f"{held}: another castscope is at work with it" in done.said and held.exists(), done
