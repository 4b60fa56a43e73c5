"""What cannot be read of a file of the spool is said, and stays where somebody may look into it."""

import os
import subprocess

import pytest
from fake_collector import in_place_of_a_collector, put_spool
from program import clean_environment


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
