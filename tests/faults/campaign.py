"""Faults at random moments into runs that go to a collector: nothing acknowledged is lost, nothing counts twice, and no
job is disturbed, or the report says what is missing.

  scripts/faults                 1,000 faults, resumable: what was done is in build/faults.json
  scripts/faults --again         the same, from the first one
  scripts/faults --seed 17       one of them, as it was
  scripts/faults --many 50       so many
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import random
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import faults
import world

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DONE = ROOT / "build" / "faults.json"


def meet(seed, folder):
    """One fault. An AssertionError says what is wrong after it."""
    chance = random.Random(seed)
    fault = faults.ALL[seed % len(faults.ALL)]
    around = world.World(folder)
    try:
        for _ in range(chance.randint(1, 4)):
            around.start(chance)
        time.sleep(chance.uniform(0, 1.5))
        fault(around, chance)
        time.sleep(chance.uniform(0, 0.5))
        if chance.random() < 0.5:
            around.heal()  # while the jobs run; otherwise their data wait on disk
        statuses = [job.wait() for job in around.jobs]
        for job, status in zip(around.jobs, statuses):
            allowed = {job.exit_status} | ({137, -9} if job.killed or job.recorder_killed else set())
            assert status in allowed, f"{job.name} ended with {status}: {job.said}"
        around.heal()
        around.bring_home()
        assert around.collector.end(signal.SIGINT) == 0, around.collector.log
        around.collector.start()  # what could not be concluded on a full disk is concluded now
        assert around.collector.end(signal.SIGINT) == 0, around.collector.log
        around.check()
    finally:
        around.close()


def outcome_of(seed):
    """The seed, the fault's name, what did not hold ("" = all did), and the seconds that it took."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        try:
            meet(seed, pathlib.Path(folder))
            problem = ""
        except Exception as error:  # noqa: BLE001
            problem = f"{type(error).__name__}: {error}"
    return seed, faults.ALL[seed % len(faults.ALL)].__name__, problem, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--many", type=int, default=1000)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--jobs", type=int, default=4, help="so many at a time (default: 4)")
    arguments = parser.parse_args()
    resumes = arguments.seed is None and not arguments.again
    done = json.loads(DONE.read_text()) if resumes and DONE.exists() else {}
    seeds = [arguments.seed] if arguments.seed is not None else [n for n in range(arguments.many) if str(n) not in done]
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        for future in concurrent.futures.as_completed([pool.submit(outcome_of, seed) for seed in seeds]):
            seed, name, problem, seconds = future.result()
            done[str(seed)] = [name, problem]
            print(f"{seed:5} {name:28} {seconds:5.1f} s  {problem or 'held'}", flush=True)
            if arguments.seed is None:
                DONE.write_text(json.dumps(done))
    table = collections.Counter((name, bool(problem)) for name, problem in done.values())
    for name in sorted({name for name, _ in table}):
        print(f"{name:28} {table[name, False] + table[name, True]:5} faults, {table[name, True]} did not hold")
    return int(any(problem for _, problem in done.values()))


if __name__ == "__main__":
    sys.exit(main())
