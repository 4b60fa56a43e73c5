"""Faults at random moments into runs that go to a collector: nothing acknowledged is lost, nothing counts twice, and no
job is disturbed, or the report says what is missing.

  scripts/faults                 1,000 faults, resumable: what was done is in build/faults.json
  scripts/faults --again         the same, from the first one
  scripts/faults --seed 17       one of them, as it was
  scripts/faults --many 50       so many
  scripts/faults --kind NAME     of one kind alone
  scripts/faults --failed        those of them that did not hold, once more
  scripts/faults --short         one of most kinds, as scripts/test runs them
  scripts/faults --table         how many held, into docs/reliability.md
  scripts/faults --crowd         384 jobs at once; six minutes (tests/faults/crowd.py)

With --seed and --short, build/faults.json stays as it is.
"""

import argparse
import concurrent.futures
import json
import pathlib
import random
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import crowd  # noqa: E402
import faults  # noqa: E402
import table  # noqa: E402
import world  # noqa: E402

ROOT = HERE.parent.parent
DONE = ROOT / "build" / "faults.json"


def kind_of(seed):
    return faults.ALL[seed % len(faults.ALL)]


def meet(seed, folder):
    """One fault. Returns whether a job ran when it was done. An AssertionError says what is wrong after it."""
    chance, kind = random.Random(seed), kind_of(seed)
    around = world.World(folder, chance, kind.has)
    try:
        for _ in range(chance.randint(*kind.jobs)):
            around.start()
        time.sleep(chance.uniform(0, 1.2))
        struck = any(job.recorder.poll() is None for job in around.jobs)
        kind.act(around)
        time.sleep(chance.uniform(0, 0.5))
        heals = chance.random() < 0.5
        if heals:
            around.heal()  # while the jobs run; otherwise their data wait on disk
        for job in around.jobs:
            allowed = {job.wait()} & ({job.exit_status} | ({137, -9} if job.killed or job.recorder_killed else set()))
            assert allowed, f"{job.name} ended with {job.wait()}: {job.said}"
        for act in around.unhealed if not heals else ():
            act()
        around.heal()
        around.bring_home()
        for act in around.later:
            act()
        assert around.collector.end(signal.SIGINT) == 0, around.collector.log
        around.collector.start()  # what could not be concluded on a full disk is concluded now
        assert around.collector.end(signal.SIGINT) == 0, around.collector.log
        around.check()
        return struck
    finally:
        around.close()


def outcome_of(seed):
    """The seed, what did not hold ("" = all did), whether a job ran, and the seconds that it took."""
    begin, struck = time.monotonic(), True
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        try:
            struck = meet(seed, pathlib.Path(folder))
            problem = ""
        except Exception as error:  # noqa: BLE001
            problem = f"{type(error).__name__}: {error}"
    return seed, problem, struck, time.monotonic() - begin


def read_done():
    """What was done already, by the same list of kinds: otherwise a seed is another fault now."""
    told = json.loads(DONE.read_text()) if DONE.exists() else {}
    return told["done"] if told.get("kinds") == [kind.name for kind in faults.ALL] else {}


def write_done(done):
    written = DONE.with_suffix(".new")
    written.write_text(json.dumps({"kinds": [kind.name for kind in faults.ALL], "done": done}))
    written.replace(DONE)


def run(seeds, done, jobs, keep):
    pool = concurrent.futures.ProcessPoolExecutor(jobs)
    try:
        tasks = [pool.submit(outcome_of, seed) for seed in seeds]
        for number, task in enumerate(concurrent.futures.as_completed(tasks), 1):
            seed, problem, struck, seconds = task.result()
            name = kind_of(seed).name
            done[str(seed)] = [name, problem, struck, round(seconds, 1)]
            print(f"{number:4} of {len(seeds)}  seed {seed:5}  {name:34} {seconds:5.1f} s  {problem or 'held'}",
                  flush=True)
            if keep:
                write_done(done)
    finally:  # who interrupts it waits for those that are under way alone
        pool.shutdown(cancel_futures=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--many", type=int, default=1000)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--kind", choices=[kind.name for kind in faults.ALL])
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--jobs", type=int, default=4, help="so many at a time (default: 4)")
    for option in ("--failed", "--short", "--table", "--crowd"):
        parser.add_argument(option, action="store_true")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves nothing behind
    if arguments.table:
        return table.write(read_done())
    if arguments.crowd:
        return crowd.meet()
    keep = arguments.seed is None and not arguments.short
    done = read_done() if keep and not arguments.again else {}
    if arguments.failed:
        done = {seed: outcome for seed, outcome in done.items() if not outcome[1]}
    seeds = range(arguments.many) if arguments.seed is None else [arguments.seed]
    if arguments.short:
        seeds = [seed for seed in range(len(faults.ALL)) if kind_of(seed).short]
    troubles = {kind.name: kind.trouble() for kind in faults.ALL}
    for name, trouble in troubles.items():
        if trouble:
            print(f"{name} is left out: {trouble}")
    seeds = [seed for seed in seeds if str(seed) not in done and not troubles[kind_of(seed).name]
             and arguments.kind in (None, kind_of(seed).name)]
    for word in {word for seed in seeds for word in kind_of(seed).has} & set(faults.PREPARATIONS):
        faults.PREPARATIONS[word]()
    run(seeds, done, arguments.jobs, keep)
    print("\n".join(table.rows(done)))
    return int(any(problem for _, problem, _, _ in done.values()))


if __name__ == "__main__":
    sys.exit(main())
