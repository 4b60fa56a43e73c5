"""The measurements of scripts/bench. Each section returns plain numbers; table.py judges them against the targets.

Everything compared is run side by side in one go, in turns (A B C A B C …), so that a slow minute of the machine
falls on all alike. A figure is the median over the rounds; a ratio is the median of the rounds' own ratios.
"""

import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import runs  # noqa: E402
from intervals import median_interval  # noqa: E402
from reports import read_report  # noqa: E402

OBSERVERS = ["nothing", "castscope", "castscope-deep", "profiler", "profiler-stacks", "dispatch-mode"]
STEPS = {"tiny": 400, "mid": 20}
# Steps before the first one measured: past the 20,000 operators that castscope records to learn from.
WARM_UP = {"tiny": 60, "mid": 30}
WARM_UP_OF_PEERS = {"tiny": 30, "mid": 3}
# glibc gives big tensors back to the kernel and takes them anew, or not, as the heap happens to lie in this run: up to
# 3,000 page faults more or less in each mid-size step, far more than what is to be seen. Switched off for all alike.
STEADY_HEAP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}


def run(command, *, castscope=False, options=(), folder=None, environment=None):
    """The last line of the command's output as JSON, and with castscope its report.

    castscope: whether to run under it, or the program to run under.
    """
    with tempfile.TemporaryDirectory() as own:
        folder = pathlib.Path(folder or own)
        if castscope:
            program = runs.CASTSCOPE if castscope is True else castscope
            command = [str(program), "run", "--force", "-o", str(folder / "run"), *options, "--", *command]
        done = subprocess.run(command, env=runs.clean_environment() | (environment or {}), cwd=folder, check=False,
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"bench: {' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
        result = json.loads(done.stdout.splitlines()[-1])
        written = folder / "run.json"
        return result, json.loads(written.read_text()) if castscope and written.exists() else None


def say(text):
    print(text, file=sys.stderr, flush=True)


def steps_once(size, observer, *mode, program=True):
    ours = observer.startswith("castscope")
    observed_by = "nothing" if ours else observer
    warm_up = (WARM_UP if ours or observer == "nothing" else WARM_UP_OF_PEERS)[size]
    options = ("--deep", "always") if observer == "castscope-deep" else ()
    command = [sys.executable, str(HERE / "steps.py"), size, observed_by, str(STEPS[size]), str(warm_up), *mode]
    result, report = run(command, castscope=ours and program, options=options, environment=STEADY_HEAP)
    return {"cpu_ms": statistics.median(result["cpu_ns"]) / 1e6, "wall_ms": statistics.median(result["wall_ns"]) / 1e6,
            "import_ms": result["import_s"] * 1e3, "peak_mb": result["peak_rss_mb"],
            "dropped": events_lost(report) if report else 0}


def events_lost(report):
    """Returns how many events a report lacks; with --against it may be of the first format, which has another name."""
    totals = report["totals"]
    return totals["events_lost"] if "events_lost" in totals else totals["dropped_events"]


def steps(rounds):
    """Per size and observer: CPU time of the training thread per step, its ratio to the round without an observer.

    What is to be told apart from nothing by a few thousandths has three times the rounds.
    """
    found = {}
    for size in STEPS:
        rows, base = {observer: [] for observer in OBSERVERS}, {observer: [] for observer in OBSERVERS}
        for number in range(3 * rounds):
            say(f"steps: {size}, round {number + 1} of {3 * rounds}")
            turn = OBSERVERS if number < rounds else OBSERVERS[:2]
            measured = {observer: steps_once(size, observer) for observer in turn[::1 if number % 2 else -1]}
            for observer, row in measured.items():
                rows[observer].append(row)
                base[observer].append(measured["nothing"])
        found[size] = {observer: summed_up(rows[observer], base[observer]) for observer in OBSERVERS}
    return found


def new_code(rounds):
    """A job with new code in each step: CPU time as a ratio to `--deep never`, and how often code was left out."""
    command = [sys.executable, str(HERE / "new_code.py"), "4000"]
    rows, base, left_out = [], [], []
    for number in range(3 * rounds):
        say(f"new-code: round {number + 1} of {3 * rounds}")
        for options in [(), ("--deep", "never")][::1 if number % 2 else -1]:
            result, report = run(command, castscope=True, options=options, environment=STEADY_HEAP)
            (base if options else rows).append(result["cpu_s"])
            if not options:
                left_out.append(report["coverage"]["new_code_left_out"])
    ratios = [row / other for row, other in zip(rows, base)]
    low, high = median_interval(ratios)
    return {"ratio": statistics.median(ratios), "ratio_low": low, "ratio_high": high, "pairs": len(ratios),
            "seconds": statistics.median(base), "left_out": statistics.median(left_out)}


def modes(rounds):
    """As steps(), of the tiny transformer scripted, traced and compiled."""
    found, observers = {}, ["nothing", "castscope", "profiler", "profiler-stacks"]
    for mode in ("script", "trace", "compile"):
        rows = {observer: [] for observer in observers}
        for number in range(rounds):
            say(f"modes: {mode}, round {number + 1} of {rounds}")
            for observer in observers[::1 if number % 2 else -1]:
                rows[observer].append(steps_once("tiny", observer, mode))
        found[mode] = {observer: summed_up(rows[observer], rows["nothing"]) for observer in observers}
    return found


def summed_up(rows, base):
    out = {key: statistics.median(row[key] for row in rows) for key in ("cpu_ms", "wall_ms", "import_ms", "peak_mb")}
    ratios = [row["cpu_ms"] / other["cpu_ms"] for row, other in zip(rows, base)]
    out["ratio"] = statistics.median(ratios)
    out["ratio_low"], out["ratio_high"] = median_interval(ratios)
    out["pairs"] = len(ratios)
    out["wall_ratio"] = statistics.median(row["wall_ms"] / other["wall_ms"] for row, other in zip(rows, base))
    for key in ("import_ms", "peak_mb"):
        out["more_" + key] = statistics.median(row[key] - other[key] for row, other in zip(rows, base))
    out["dropped"] = sum(row["dropped"] for row in rows)
    return out


def calls(rounds):
    """ns that castscope adds to one call of cached_cast: with it minus without it, median over the rounds."""
    command = [sys.executable, str(HERE / "calls.py")]
    plain, traced, dropped = [], [], 0
    for number in range(rounds):
        say(f"calls: round {number + 1} of {rounds}")
        plain.append(run(command)[0])
        result, report = run(command, castscope=True)
        traced.append(result)
        dropped += events_lost(report)
    added = {key: statistics.median(b[key] - a[key] for a, b in zip(plain, traced)) for key in plain[0]}
    untouched = {key: statistics.median(a[key] for a in plain) for key in plain[0]}
    return {"added": added, "untouched": untouched, "dropped": dropped}


# Jobs of gains.py with weights that nobody trains.
FROZEN = ("adapters", "BERT", "GPT-2 1x16", "GPT-2 4x64")
HEAPS = {"default": {}, "steady": STEADY_HEAP}
TURNS, STEPS_A_TURN = 12, 6


class TakesTurns:
    """A process of gains.py that makes some steps when it is told to."""

    def __init__(self, job, warm_up, *, folder=None, words=(), environment=None):
        self.folder = folder
        command = [sys.executable, str(HERE / "gains.py"), job, str(STEPS_A_TURN + 1), str(warm_up), *words]
        if folder is not None:
            command = [str(runs.CASTSCOPE), "run", "--force", "-o", str(folder / "run"), "--enforce", "torch-cpu", "--",
                       *command]
        self.process = subprocess.Popen(command, env=runs.clean_environment() | (environment or {}), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"bench: {self.process.args} ended with {self.process.wait()}")
        return json.loads(line)

    def turn(self):
        """ns that a step takes; the first one of the turn has the caches of another process to fill anew."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return statistics.median(self.answer()[1:])

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise SystemExit(f"bench: {self.process.args} ended with {self.process.returncode}")
        return read_report(self.folder / "run.json") if self.folder else None


def gains(rounds):
    """Whole steps of jobs that cast the same weights again and again: CPU time under --enforce against stock.

    The processes take turns of some steps, so that a slow moment of the machine falls on all alike.
    """
    jobs = subprocess.run([sys.executable, str(HERE / "gains.py"), "list"], check=True, capture_output=True, text=True)
    found = {}
    for job in jobs.stdout.splitlines():
        rows = {heap: [] for heap in HEAPS}
        for number in range(rounds):
            for heap, environment in HEAPS.items():
                say(f"gains: {job}, {heap} heap, round {number + 1} of {rounds}")
                rows[heap].append(gain_once(job, environment))
        found[job] = {heap: {key: statistics.median(row[key] for row in of_heap) for key in of_heap[0]} |
                            {"low": min(row["ratio"] for row in of_heap), "high": max(row["ratio"] for row in of_heap)}
                      for heap, of_heap in rows.items()}
        say(f"gains: {job}: {json.dumps(found[job])}")
    return found


def gain_once(job, environment):
    with tempfile.TemporaryDirectory() as folder:
        warm_up = 120  # steps, past the 20,000 operators that castscope records to learn from
        one = {"stock": TakesTurns(job, warm_up, environment=environment),
               "enforced": TakesTurns(job, warm_up, environment=environment, folder=pathlib.Path(folder))}
        if job.startswith(FROZEN):
            one["uncast"] = TakesTurns(job, warm_up, environment=environment, words=["uncast"])
        for process in one.values():
            process.answer()
        turns = [{name: process.turn() for name, process in one.items()} for _ in range(TURNS)]
        reports = {name: process.end() for name, process in one.items()}
    ratio = {name: statistics.median(turn[name] / turn["stock"] for turn in turns) for name in one}
    return {"stock_ms": statistics.median(turn["stock"] for turn in turns) / 1e6, "ratio": ratio["enforced"],
            "least": ratio.get("uncast", 0), "kept_mb": reports["enforced"]["cache"]["cache_peak_bytes"] / 1e6}


def operators(rounds):
    """Returns the ns that enforcing adds to one call of an operator, where recording is paid for already; also with all
    kernels."""
    command = [sys.executable, str(HERE / "operators.py")]
    ways = {"stock": None, "observed": (), "address": ("--enforce", "torch-cpu"),
            "kernels": ("--enforce", "torch-cpu", "--all-kernels")}
    rows = {way: [] for way in ways}
    for number in range(rounds):
        say(f"operators: round {number + 1} of {rounds}")
        for way, options in ways.items():
            all_options = ("--deep", "never", *(options or ()))
            rows[way].append(run(command, castscope=options is not None, options=all_options)[0])
    added = {way: {op: statistics.median(b[op] - a[op] for a, b in zip(rows["observed"], rows[way]))
                   for op in rows["stock"][0]} for way in ("address", "kernels")}
    return {"stock": {op: statistics.median(row[op] for row in rows["stock"]) for op in rows["stock"][0]}, **added}


def program(name, castscope=runs.CASTSCOPE):
    """Builds a program of this folder beside that castscope, and returns its path."""
    build = pathlib.Path(castscope).parent
    subprocess.run(["cmake", "--build", str(build), "--target", name], check=True, stdout=subprocess.DEVNULL)
    return str(build / "tests" / "bench" / name)


def ring_once(castscope=runs.CASTSCOPE):
    """Events a second from one writer through the ring to its reader, of which none is lost."""
    done = subprocess.run([program("bench_ring", castscope), "--benchmark_format=json"], check=True,
                          capture_output=True)
    result = json.loads(done.stdout)["benchmarks"][0]
    if result.get("error_occurred"):
        raise SystemExit(f"bench: ring: {result['error_message']}")
    return result["items_per_second"]


def ring(rounds):
    rates = []
    for number in range(rounds):
        say(f"ring: round {number + 1} of {rounds}")
        rates.append(ring_once())
    return {"events_per_s": statistics.median(rates)}


def pipeline(rounds, events=6_000_000):
    """Events a second of CPU time from the rings into the file, on one core."""
    found = {}
    for mode in ("one", "apart"):
        for keep in ("", "all"):
            rows = []
            for number in range(rounds):
                say(f"pipeline: {mode} {keep}, round {number + 1} of {rounds}")
                command = [program("bench_pipeline"), str(events), mode, *([keep] if keep else [])]
                rows.append(run(command)[0])
            found[f"{mode}-{keep or 'window'}"] = {
                "events_per_cpu_s": statistics.median(row["events"] / row["cpu_s"] for row in rows),
                "events_per_wall_s": statistics.median(row["events"] / row["wall_s"] for row in rows),
                "file_bytes_per_event": statistics.median(row["file_bytes"] / row["events"] for row in rows)}
    return found


class CountingProxy:
    """Passes one port on to another and counts what the client sends."""

    def __init__(self, target):
        self.target, self.sent = target, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            server = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self.pump, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, False), daemon=True).start()

    def pump(self, source, sink, count):
        try:
            while data := source.recv(1 << 16):
                if count:
                    self.sent += len(data)
                sink.sendall(data)
        except OSError:
            pass  # the other end is gone; so is what it would have been told
        sink.close()


def received(report):
    return sum(lane["events_received"] for process in report["processes"] for lane in process["lanes"])


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def traced_steps(count, folder, *options, environment=None, castscope=True):
    command = [sys.executable, str(HERE / "steps.py"), "tiny", "nothing", str(count), "30"]
    return run(command, castscope=castscope, options=options, folder=folder, environment=environment)[1]


def sent_to_collector(count, castscope=runs.CASTSCOPE):
    """Bytes that a real training sends to a collector."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        server = subprocess.Popen([str(castscope), "serve", "--listen", f"127.0.0.1:{port}", "--folder", folder],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        proxy = CountingProxy(port)
        try:
            traced_steps(count, folder, "--collector", f"127.0.0.1:{proxy.port}", castscope=castscope)
        finally:
            server.terminate()
            server.wait()
    return proxy.sent


def pipeline_once(castscope=runs.CASTSCOPE, events=3_000_000):
    """What a collector on a core of its own needs for so many events."""
    row = run([program("bench_pipeline", castscope), str(events), "apart"])[0]
    return {"rate": row["events"] / row["cpu_s"] / 1e6, "rest": row["file_bytes"] / row["events"]}


def sizes(_rounds, count=6000):
    """Bytes an event of a real training takes between relay and collector, and in the file with --keep all."""
    say("sizes: at rest")
    with tempfile.TemporaryDirectory() as folder:
        report = traced_steps(count, folder, "--keep", "all")
        at_rest = os.path.getsize(os.path.join(folder, "run.castscope")) / received(report)
        events = received(report)
    say("sizes: on the wire")
    return {"events": events, "wire_bytes_per_event": sent_to_collector(count) / events,
            "rest_bytes_per_event": at_rest}


def growth(_rounds):
    """How fast the default run file grows once its window of raw events is full."""
    sized = []
    for count in (20_000, 60_000):  # of some 3 ms each
        say(f"growth: {count} steps")
        with tempfile.TemporaryDirectory() as folder:
            report = traced_steps(count, folder)
            size = os.path.getsize(os.path.join(folder, "run.castscope"))
            sized.append((size, report["run"]["end_ns"] / 1e9, received(report)))
    (size0, seconds0, events0), (size1, seconds1, events1) = sized
    return {"mb_per_hour": (size1 - size0) / (seconds1 - seconds0) * 3600 / 1e6, "seconds": seconds1,
            "file_mb": size1 / 1e6, "events": events1}


SECTIONS = {"steps": steps, "new-code": new_code, "modes": modes, "calls": calls, "gains": gains,
            "operators": operators, "ring": ring, "pipeline": pipeline, "sizes": sizes, "growth": growth}
