"""64 real jobs and 320 replayed ones at once, at a collector that may have 1,024 descriptors: all arrive or wait, none
is refused, and the collector's memory does not grow with the runs that it has had.

The jobs take two to four minutes. The replayed ones cast 20 times a second; PyTorch is started 64 times, which two
cores need more than a minute for."""

import pathlib
import random
import signal
import tempfile
import time

import jobs
import world

REAL, REPLAYED = 64, 320
FIRST_LOOK_S = 120
MOST_GROWTH = 1.1
PATIENCE_S = 900


def resident_kb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


def start_all(around, chance):
    for number in range(REPLAYED):
        name, casts = f"job-{number}", chance.randint(2400, 4800)
        around.jobs.append(jobs.ReplayedJob(around, name, casts, 20, chance.choice([0, 3])))
        if number % (REPLAYED // REAL) == 0:
            pause_s = chance.uniform(120, 240) / jobs.RealJob.STEPS
            around.jobs.append(jobs.RealJob(around, f"real-{number}", chance.choice([0, 3]), pause_s))


def meet():
    jobs.find_known()
    chance = random.Random(0)
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        around = world.World(pathlib.Path(folder), chance, ("1,024 descriptors",))
        try:
            return look_after(around, chance)
        finally:
            around.close()


def look_after(around, chance):
    begin, collector = time.monotonic(), around.collector
    start_all(around, chance)
    print(f"{len(around.jobs)} jobs started within {time.monotonic() - begin:.0f} s", flush=True)
    time.sleep(max(0, begin + FIRST_LOOK_S - time.monotonic()))
    first_kb = resident_kb(collector.server.pid)
    print(f"resident after {FIRST_LOOK_S} s: {first_kb / 1024:.1f} MB", flush=True)
    for job in around.jobs:
        assert job.wait(PATIENCE_S) == job.exit_status, f"{job.name} ended with {job.wait()}: {job.said}"
    waited = len(list((around.folder / "spool").glob("*.spool")))
    around.bring_home()
    last_kb = resident_kb(collector.server.pid)
    print(f"after {time.monotonic() - begin:.0f} s all has arrived, {waited} runs of it from the spool; resident: "
          f"{last_kb / 1024:.1f} MB, {last_kb / first_kb:.2f} times that", flush=True)
    for number in range(2):
        assert collector.end(signal.SIGINT) == 0, collector.log
        if number == 0:
            collector.start()
    around.check()
    assert "refused" not in collector.log, collector.log
    print("every run is complete, and its casts are those of the job")
    assert last_kb <= MOST_GROWTH * first_kb, "the collector has grown"
    return 0
