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
  scripts/faults --upgrade-from REV   collectors and relays of that commit, whose place this version takes
                                      (tests/faults/upgrades.py); the commit is built below build/against. With --many,
                                      --seed, --kind, --failed and --again; what was done is in build/faults-from-*.json

With --seed and --short, what was done stays as it is.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import random
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import administration  # noqa: E402, F401
import commits  # noqa: E402
import crowd  # noqa: E402
import faults  # noqa: E402
import table  # noqa: E402
import upgrades  # noqa: E402
import world  # noqa: E402

ROOT = HERE.parent.parent


@dataclasses.dataclass(frozen=True)
class Campaign:
    kinds: list
    file: pathlib.Path  # what was done
    old: pathlib.Path | None = None  # the program of another commit

    def kind_of(self, seed):
        return self.kinds[seed % len(self.kinds)]

    def read_done(self):
        """What was done already, by the same list of kinds: otherwise a seed is another fault now."""
        told = json.loads(self.file.read_text()) if self.file.exists() else {}
        return told["done"] if told.get("kinds") == [kind.name for kind in self.kinds] else {}

    def write_done(self, done):
        written = self.file.with_suffix(".new")
        written.write_text(json.dumps({"kinds": [kind.name for kind in self.kinds], "done": done}))
        written.replace(self.file)


USUAL = Campaign(faults.ALL, ROOT / "build" / "faults.json")


def meet(seed, kind, old, folder):
    """One fault. Returns whether a job ran when it was done. An AssertionError says what is wrong after it."""
    chance = random.Random(seed)
    around = world.World(folder, chance, kind.has, old)
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


def outcome_of(seed, kind, old):
    """The seed, what did not hold ("" = all did), whether a job ran, and the seconds that it took."""
    begin, struck = time.monotonic(), True
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        try:
            struck = meet(seed, kind, old, pathlib.Path(folder))
            problem = ""
        except Exception as error:  # noqa: BLE001
            problem = f"{type(error).__name__}: {error}"
    return seed, problem, struck, time.monotonic() - begin


def run(campaign, seeds, done, jobs, keep):
    pool = concurrent.futures.ProcessPoolExecutor(jobs)
    try:
        tasks = [pool.submit(outcome_of, seed, campaign.kind_of(seed), campaign.old) for seed in seeds]
        for number, task in enumerate(concurrent.futures.as_completed(tasks), 1):
            seed, problem, struck, seconds = task.result()
            name = campaign.kind_of(seed).name
            done[str(seed)] = [name, problem, struck, round(seconds, 1)]
            print(f"{number:4} of {len(seeds)}  seed {seed:5}  {name:34} {seconds:5.1f} s  {problem or 'held'}",
                  flush=True)
            if keep:
                campaign.write_done(done)
    finally:  # who interrupts it waits for those that are under way alone
        pool.shutdown(cancel_futures=True)


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--many", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--kind", action="append", choices=[kind.name for kind in faults.ALL + upgrades.ALL])
    parser.add_argument("--upgrade-from", metavar="REV")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--jobs", type=int, default=4, help="so many at a time (default: 4)")
    for option in ("--failed", "--short", "--table", "--crowd"):
        parser.add_argument(option, action="store_true")
    arguments = parser.parse_args()
    if arguments.upgrade_from and (arguments.short or arguments.table or arguments.crowd):
        parser.error("--upgrade-from goes with none of --short, --table and --crowd")
    return arguments


def campaign_of(arguments):
    if not arguments.upgrade_from:
        return USUAL
    commit = commits.commit_of(arguments.upgrade_from)
    return Campaign(upgrades.ALL, ROOT / "build" / f"faults-from-{commit[:12]}.json", commits.build(commit))


def seeds_of(arguments, campaign, done):
    """The seeds that are asked for, were not done, and can be done here."""
    seeds = range(arguments.many or (140 if campaign.old else 1000))
    if arguments.seed is not None:
        seeds = [arguments.seed]
    if arguments.short:
        seeds = [seed for seed in range(len(campaign.kinds)) if campaign.kind_of(seed).short]
    troubles = {kind.name: kind.trouble() for kind in campaign.kinds}
    for name, trouble in troubles.items():
        if trouble:
            print(f"{name} is left out: {trouble}")
    return [seed for seed in seeds if str(seed) not in done and not troubles[campaign.kind_of(seed).name]
            and (not arguments.kind or campaign.kind_of(seed).name in arguments.kind)]


def main():
    arguments = read_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves nothing behind
    if arguments.table:
        return table.write(USUAL.read_done())
    if arguments.crowd:
        return crowd.meet()
    campaign = campaign_of(arguments)
    keep = arguments.seed is None and not arguments.short
    done = campaign.read_done() if keep and not arguments.again else {}
    if arguments.failed:
        done = {seed: outcome for seed, outcome in done.items() if not outcome[1]}
    seeds = seeds_of(arguments, campaign, done)
    for word in sorted({word for seed in seeds for word in campaign.kind_of(seed).has} & set(faults.PREPARATIONS)):
        faults.PREPARATIONS[word]()
    run(campaign, seeds, done, arguments.jobs, keep)
    print("\n".join(table.rows(done)))
    return int(any(problem for _, problem, _, _ in done.values()))


if __name__ == "__main__":
    sys.exit(main())
