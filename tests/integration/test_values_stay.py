"""No element of a tensor leaves the process, only statistics of them (docs/trust.md). The job's tensors have elements
that are found again by their bits, in each dtype, and all that castscope writes and sends is searched for them."""

import contextlib
import json
import math
import sqlite3
import struct
import subprocess

import pytest
from program import BUILD
from wiretap import Wiretap

# As the job computes them: their digits stand neither in its source nor in the command.
OF_ELEMENTS, OF_LARGEST = "[(344010 + 336 * n) / 1024000 for n in range(8)]", "4299 / 64"
ELEMENTS, LARGEST = [(344010 + 336 * n) / 1024000 for n in range(8)], 4299 / 64
# `fill` puts numbers around 1/3 into each tensor, and one larger number, which is no secret: it is a statistic.
JOB = """
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
ELEMENTS = {elements}
def fill(*shape, dtype=torch.float32, largest={largest}):
    count = torch.Size(shape).numel()
    values = (ELEMENTS * count)[:count - 1] + [largest]
    return torch.tensor(values, dtype=torch.float64).reshape(shape).to(dtype)
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 8))
with torch.no_grad():
    for p in net.parameters(): p.copy_(fill(*p.shape))
buffer = fill(8, 8)  # a weight that needs no gradient
opt = torch.optim.SGD(net.parameters(), lr=0.0)
for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
    for _ in range(3):
        with torch.autocast('cpu', torch.bfloat16):
            out = net(fill(4, 8))
            torch.mm(fill(8, 8, dtype=torch.float32), buffer)
        copy = fill(4, 8, dtype=dtype).to(torch.float16).to(torch.bfloat16).float()
        copy.mul(fill(4, 8)).sum()
        out.sum().backward()
        opt.step()
        opt.zero_grad()
"""
def forms_of(element):
    """The element as its bits in both orders, and as a text. Four bfloat16 in a row are searched for, not one."""
    yield from (struct.pack(order + kind, element) for order in "<>" for kind in "fd")
    yield f"{element:.9f}".rstrip("0").encode()
    yield f"{struct.unpack('f', struct.pack('f', element))[0]!r}"[:9].encode()


def half_words(elements):
    bits = [struct.unpack("<I", struct.pack("<f", element))[0] >> 16 for element in elements]
    return struct.pack(f"<{len(bits)}H", *bits), struct.pack(f"<{len(bits)}e", *elements)


NEEDLES = [form for element in ELEMENTS for form in forms_of(element)] + [
    word for at in range(5) for word in half_words(ELEMENTS[at:at + 4])]
OF_STATISTIC = [struct.pack("<d", LARGEST), b"67.171875"]


def job(castscope, largest=OF_LARGEST):
    path = castscope.folder / "train.py"
    path.write_text(JOB.format(elements=OF_ELEMENTS, largest=largest))
    return path


def numbers_of(value):
    """All numbers in a JSON document."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from numbers_of(one)
    elif isinstance(value, int | float):
        yield float(value)


def kept_in(castscope, run_file):
    """The files, and what they hold when it is unpacked."""
    with contextlib.closing(sqlite3.connect(run_file)) as database:
        rows = "\n".join(database.iterdump()).encode()
    return {"run file": run_file.read_bytes(), "report": run_file.with_suffix(".json").read_bytes(), "its rows": rows,
            "events": castscope("report", "-f", "jsonl", run_file).stdout}


def written(castscope, python, code):
    """Everything that castscope writes and sends of the job, by what it is."""
    folder = castscope.folder / "lanes"
    folder.mkdir()
    environment = {"CASTSCOPE_DEEP": "always"}
    done = castscope.bare(python, code, env=environment | {"CASTSCOPE_RUN": str(folder)})
    assert done.returncode == 0, done.stderr
    segments = list(folder.glob("*.lanes"))
    dumped = subprocess.run([BUILD / "agent/lanes/lanes_dump", *segments], capture_output=True, check=True).stdout
    texts = {"segments": b"".join(path.read_bytes() for path in segments), "their text": dumped}
    done = castscope("run", "--deep", "always", "--keep", "all", "-o", "run", "--", python, code)
    assert done.returncode == 0, done.stderr
    return texts | kept_in(castscope, castscope.folder / "run.castscope")


def found(texts, needles):
    return sorted({name for name, text in texts.items() if any(needle in text for needle in needles)})


@pytest.fixture
def texts(castscope, python):
    return written(castscope, python, job(castscope))


def test_no_element_is_written(texts):
    assert found(texts, NEEDLES) == []
    # The search finds what is there: the largest magnitude is a statistic.
    assert {"segments", "events", "its rows"} <= set(found(texts, OF_STATISTIC))
    events = [json.loads(line) for line in texts["events"].splitlines()]
    numbers = {number for event in events for number in numbers_of(event)}
    assert LARGEST in numbers and not any(math.isclose(number, element, rel_tol=1e-3)
                                        for number in numbers for element in ELEMENTS)


def test_the_search_would_find_an_element(castscope, python):
    texts = written(castscope, python, job(castscope, "ELEMENTS[7]"))
    assert {"segments", "events", "its rows"} <= set(found(texts, NEEDLES))


def test_no_element_is_sent(castscope, python, collector):
    tap = Wiretap(castscope.folder / "tap", collector.address)
    try:
        done = castscope("run", "--deep", "always", "--collector", tap.address, "-o", "sent", "--", python,
                         job(castscope))
    finally:
        tap.close()
    assert done.returncode == 0, done.stderr
    assert b"aten::" in tap.heard and not any(needle in tap.heard for needle in NEEDLES)
    collector.stop()
    texts = kept_in(castscope, collector.folder / "sent.castscope")
    assert found(texts, NEEDLES) == [] and "events" in found(texts, OF_STATISTIC)
