"""Attaches and detaches over and over, kills either side at random, and holds the job against a plain one.

campaign.py FOLDER [--cycles 1000] [--kills 40] [--by armed|gdb|remote-exec] [--seed N]. Ends with 1 at the first
thing that is not as it should be.
"""

import argparse
import pathlib
import random
import shutil
import signal
import sys
import time

import driver


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def check(what, is_so):
    if not is_so:
        sys.exit(f"campaign: {what}")


def plain_losses(folder, iterations):
    job = driver.Job(folder, plain=True, training=["--iterations", str(iterations)])
    check("the plain job fails", job.process.wait(600) == 0)
    losses = [loss for _, _, loss in job.iterations()]
    job.end()
    return losses


def cycles(folder, count, kinds, chance, way):
    """Every span counts exactly what the job did in it, and the losses are those of a plain job."""
    recorder = None
    if way == "armed":
        job = driver.Job(folder / "cycles", "--armed")
    else:
        job = driver.Job(folder / "cycles", plain=True)
        recorder = driver.Recorder(job, "--stay", *(["--gdb"] if way == "gdb" else []))
        job.detach()
        count += 1  # that span
    for number in range(count - (recorder is not None)):
        job.attach()
        time.sleep(chance.random() * 0.004)
        job.detach()
        time.sleep(chance.random() * 0.004)
        if number % 100 == 99:
            say(f"{number + 1} cycles")
    check("castscope fails", recorder is None or recorder.interrupt() == 0)
    check("the job fails", job.stop() == 0)
    iterations = job.iterations()
    watched = sum(1 for _, seen, _ in iterations if seen)
    counts, truth = driver.counts_of(job), driver.expected(job, kinds)
    say(f"{len(iterations)} iterations, {watched} of them watched; counted {counts}, by the oracle {truth}")
    check("counts differ", counts == truth)
    losses = plain_losses(folder / "plain", len(iterations))
    check("losses differ", [loss for _, _, loss in iterations] == losses)
    say("losses are those of a plain job, bit for bit")
    check("a span is missing", job.report()["processes"][0]["span_count"] == count)
    job.end()
    return losses


def kill_at_random(folder, number, losses, chance):
    """One side is killed at a random moment of attaching and detaching. castscope's death leaves the job alone."""
    job = driver.Job(folder / f"kill-{number}", "--armed", training=["--iterations", str(len(losses))])
    victim = chance.choice(["castscope", "job"])
    end = time.monotonic() + chance.random() * 0.4
    directory = job.run_directory()
    while time.monotonic() < end and job.process.poll() is None:
        driver.ask(directory, f"{chance.choice(['attach', 'detach', 'attach-at-once', 'detach-at-once'])} {job.pid}")
        time.sleep(chance.random() * 0.01)
    if victim == "job":
        job.kill()
        status = job.process.wait(300)
        check(f"castscope ends with {status} after its job was killed", status == -signal.SIGKILL)
        check("there is no report of a job that was killed", (job.folder / "run.json").exists())
    else:
        job.process.kill()
        job.process.wait()
        driver.wait_for(lambda: not pathlib.Path(f"/proc/{job.pid}").exists(), 120)
        check("the job ended early, or with other losses",
              [loss for _, _, loss in job.iterations()] == losses)
        shutil.rmtree(directory, ignore_errors=True)
    job.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--by", choices=["armed", "gdb", "remote-exec"], default="armed",
                        help="how castscope comes into the job of the cycles")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    given.folder.mkdir(parents=True)
    kinds = driver.per_kind(given.folder)
    losses = cycles(given.folder, given.cycles, kinds, chance, given.by)
    for number in range(given.kills):
        kill_at_random(given.folder, number, losses[:3000], chance)
    say(f"{given.kills} kills: the jobs whose castscope was killed went on to their ends, with the same losses")


if __name__ == "__main__":
    main()
