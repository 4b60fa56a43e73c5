"""The driver behind scripts/bench-ui: how the viewer's page feels while a big run goes on.

A job writes EVENTS at once and then so many a second, into 64 lanes; castscope records and serves it as it serves any
run with --live. A real Chromium without a GPU zooms and pans in it, follows it, and is opened eight times.
"""

import argparse
import gzip
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "integration")]
import chromium  # noqa: E402
import runs  # noqa: E402
import viewer_peers  # noqa: E402
from bench import machine  # noqa: E402
from measure import program, say  # noqa: E402
from viewer_peers import SIZE, share  # noqa: E402

BEGIN, END = "<!-- made by scripts/bench-ui: begin -->", "<!-- made by scripts/bench-ui: end -->"
PAGE = ROOT / "docs" / "performance.md"
FIGURES = ROOT / "build" / "bench-ui.json"  # of earlier calls, so that --only leaves the other table as it was
LANES = 64


class Job:
    """A big run that goes on until it is stopped."""

    def __init__(self, folder, events, per_second, seconds):
        command = [str(runs.CASTSCOPE), "run", "--live", "--force", "-o", str(folder / "run"), "--",
                   program("bench_watched_job"), str(events), str(LANES), str(per_second), str(seconds)]
        self.process = subprocess.Popen(command, env=runs.clean_environment(), stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"can be watched at (\S+)", line):
                self.url = found[1]
                break
        deadline = time.monotonic() + 600
        while self.run().get("event_count", 0) < events:
            if time.monotonic() > deadline:
                raise SystemExit("bench-ui: the events did not arrive in ten minutes")
            time.sleep(0.5)

    def ask(self, path):
        with urllib.request.urlopen(self.url + "api/v2/" + path, timeout=60) as answer:
            return answer.read()

    def run(self):
        found = json.loads(self.ask("runs"))["runs"]
        return found[0] if found else {}

    def memory_mb(self):
        """The memory that castscope itself holds of the run."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def stop(self):
        self.process.terminate()
        self.process.communicate()


def renderer_mb():
    """The largest process that draws a page."""
    sizes = [0.0]
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=renderer" in (process / "cmdline").read_bytes():
                sizes.append(int(re.search(r"VmRSS:\s+(\d+)", (process / "status").read_text())[1]) / 1024)
        except (OSError, TypeError):
            continue
    return max(sizes)


def forget(page):
    page.evaluate("() => { for (const name of ['frames', 'tasks', 'pictures', 'painted']) measured[name].length = 0 }")


def first_picture_ms(page):
    while (told := page.evaluate("() => measured.pictures.find((one) => one.painted !== undefined)?.painted")) is None:
        page.wait_for_timeout(5)
    return told


def zoom_and_pan(page, seconds):
    """As a person who looks for something: nearer, aside, farther, again and again."""
    page.mouse.move(SIZE["width"] / 3, SIZE["height"] / 2)
    page.keyboard.press("0")
    forget(page)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for key, held_ms in (("w", 1600), ("d", 500), ("a", 700), ("s", 1600)):
            page.keyboard.down(key)
            page.wait_for_timeout(held_ms)
            page.keyboard.up(key)
    return page.evaluate("() => measured")


def follow(page, seconds):
    if "following" not in page.locator(".follow").inner_text():
        page.keyboard.press("f")
    page.wait_for_timeout(1000)
    forget(page)
    page.wait_for_timeout(seconds * 1000)
    return page.evaluate("() => measured")


def heap_mb(page):
    """What the page's scripts hold after garbage was collected."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return used / 1e6


def heap_over(page, seconds, every=30):
    """The heap of a page that follows the run, over time."""
    follow(page, 0)
    held = [heap_mb(page)]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        page.wait_for_timeout(every * 1000)
        forget(page)  # what the benchmark itself has noted is not the page's
        held.append(heap_mb(page))
    return held


PANELS = ["Findings", "Sites", "Modules", "Charts", "Selection", "Detail", "Compare", "SQL"]


def worked_with(page):
    """As a person who looks at everything: each panel, each view below, a search, the findings from top to bottom."""
    for panel in PANELS:
        page.get_by_role("tablist", name="Panels").get_by_role("tab", name=panel).click()
        page.wait_for_timeout(700)
    for below in ("flame by stack", "flame by module", "modules by step"):
        page.get_by_role("button", name=below).click()
        page.wait_for_timeout(700)
    page.get_by_role("tablist", name="Panels").get_by_role("tab", name="Findings").click()
    for group in page.locator(".rule-group button[aria-expanded=false]").all()[:3]:
        group.click()
    for share_down in (0.3, 0.7, 1):
        page.locator(".panel").evaluate("(one, share) => one.scrollTop = one.scrollHeight * share", share_down)
        page.wait_for_timeout(300)
    page.get_by_role("combobox", name="Search events").fill("linear")
    page.wait_for_timeout(700)


def measure_states(given):
    """The longest task of the page in runs of all kinds, with its first picture."""
    found = {}
    with tempfile.TemporaryDirectory() as folder, chromium.started() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.PROGRAM, args=chromium.OPTIONS)
        context = browser.new_context(viewport=SIZE)
        context.add_init_script(path=HERE / "viewer_page.js")
        for kind in ("training", "many-findings", "many-lanes", "one-event"):
            say(f"bench-ui: a run of the kind {kind}")
            file = pathlib.Path(folder) / f"{kind}.castscope"
            subprocess.run([ROOT / "build" / "tests" / "integration" / "sample_run", kind, file], check=True)
            view = subprocess.Popen([str(runs.CASTSCOPE), "view", "--no-browser", file], stdout=subprocess.PIPE,
                                    env=runs.clean_environment(), text=True)
            url = view.stdout.readline().strip()
            longest, firsts = [], []
            for _ in range(given.rounds):
                page = context.new_page()
                page.goto(url)
                firsts.append(first_picture_ms(page))
                worked_with(page)
                longest.append(max((task["ms"] for task in page.evaluate("() => measured.tasks")), default=0))
                heap = heap_mb(page)
                page.close()
            view.kill()
            view.wait()
            found[kind] = {"task_max": sorted(longest), "first_ms": statistics.median(firsts), "heap_mb": heap}
        browser.close()
    return found


def server_ms(job, asked=500):
    """A view answered, from the loopback's other end: log-uniform windows of 1,600 columns."""
    import random
    run = json.loads(job.ask("runs/" + job.run()["run_name"]))
    generator, took = random.Random(1), []
    whole = run["events_end_ns"] - run["events_begin_ns"]
    for _ in range(asked):
        length = int(whole * 10 ** generator.uniform(-5, 0))
        begin = run["events_begin_ns"] + generator.randrange(max(whole - length, 1))
        before = time.perf_counter()
        job.ask(f"runs/{run['run_name']}/picture?window_begin_ns={begin}&window_end_ns={begin + length + 1}"
                f"&columns={SIZE['width']}")
        took.append((time.perf_counter() - before) * 1e3)
    return took


def measure(given):
    with tempfile.TemporaryDirectory() as folder, chromium.started() as playwright:
        say(f"bench-ui: {given.events:,} events are written")
        before = time.monotonic()
        job = Job(pathlib.Path(folder), given.events, given.rate, 3600)
        found = {"events": given.events, "rate": given.rate, "arrived_s": time.monotonic() - before,
                 "server_mb": job.memory_mb()}
        browser = playwright.chromium.launch(executable_path=chromium.PROGRAM, args=chromium.OPTIONS)
        context = browser.new_context(viewport=SIZE)
        context.add_init_script(path=HERE / "viewer_page.js")
        firsts = []
        for number in range(given.rounds):
            say(f"bench-ui: first picture, {number + 1} of {given.rounds}")
            page = context.new_page()
            page.goto(job.url)
            firsts.append(first_picture_ms(page))
            if number + 1 < given.rounds:
                page.close()
        found["first_ms"] = statistics.median(firsts)
        say("bench-ui: zooming and panning")
        moved = zoom_and_pan(page, given.seconds)
        found |= {"frame_p50": share(moved["frames"], 0.5), "frame_p95": share(moved["frames"], 0.95),
                  "frame_p99": share(moved["frames"], 0.99), "frame_max": max(moved["frames"]),
                  "task_max": max((task["ms"] for task in moved["tasks"]), default=0), "tasks": len(moved["tasks"]),
                  "served_p50": share([one["served"] for one in moved["pictures"]], 0.5),
                  "served_p95": share([one["served"] for one in moved["pictures"]], 0.95),
                  "view_p50": share([one["took"] for one in moved["pictures"]], 0.5),
                  "view_p95": share([one["took"] for one in moved["pictures"]], 0.95),
                  "view_kb_max": max(one["bytes"] for one in moved["pictures"]) / 1e3}
        say("bench-ui: following")
        followed = follow(page, given.seconds)
        found |= {"paint_p50": share(followed["painted"], 0.5), "paint_p95": share(followed["painted"], 0.95),
                  "paint_max": max(followed["painted"], default=float("nan")),
                  "follow_frame_p95": share(followed["frames"], 0.95), "renderer_mb": renderer_mb()}
        if given.heap_seconds > 0:
            say(f"bench-ui: the heap, over {given.heap_seconds} s")
            found["heap_mb"] = heap_over(page, given.heap_seconds)
        say("bench-ui: eight tabs")
        tabs = [page] + [context.new_page() for _ in range(7)]
        for tab in tabs[1:]:
            tab.goto(job.url)
            first_picture_ms(tab)
        for tab in tabs:
            forget(tab)
        page.wait_for_timeout(5000)
        ages = [tab.evaluate("() => measured.painted") for tab in tabs]
        found["tabs_alive"] = sum(bool(age) for age in ages)
        # The one in front, and all of them: Chromium gives those behind a frame or two a second.
        found["front_paint_p95"] = share(ages[-1], 0.95)
        found["tabs_paint_p95"] = share([one for age in ages for one in age], 0.95)
        for tab in tabs:
            tab.close()
        say("bench-ui: the server alone")
        took = server_ms(job)
        found |= {"server_p50": share(took, 0.5), "server_p95": share(took, 0.95), "server_mb_end": job.memory_mb()}
        browser.close()
        job.stop()
    assets = [file for file in (ROOT / "ui" / "dist").rglob("*") if file.suffix in (".js", ".css", ".html")]
    found["bundle_kb"] = sum(len(gzip.compress(file.read_bytes(), 9)) for file in assets) / 1e3
    return found


def render(found):
    rows = [
        ("frame while zooming and panning, p95", f"{found['frame_p95']:.1f} ms", "16.7 ms"),
        ("… the longest", f"{found['frame_max']:.0f} ms", "100 ms"),
        ("longest task of the page's main thread", f"{found['task_max']:.0f} ms ({found['tasks']} over 50 ms)",
         "50 ms"),
        ("first picture", f"{found['first_ms']:.0f} ms", "500 ms"),
        ("view answered, on the server, while all this goes on, p95", f"{found['served_p95']:.1f} ms "
         f"(p50 {found['served_p50']:.1f})", "2 ms"),
        ("… round trip in the page, p95", f"{found['view_p95']:.1f} ms", "50 ms"),
        ("… of any window, round trip of a bare client, p95", f"{found['server_p95']:.1f} ms", ""),
        ("event to paint, p95", f"{found['paint_p95']:.0f} ms", "150 ms"),
        ("… with eight tabs at once, in the one in front", f"{found['front_paint_p95']:.0f} ms", "150 ms"),
        ("… in all of them", f"{found['tabs_paint_p95']:.0f} ms, {found['tabs_alive']} of 8 live", "8 of 8"),
        ("largest view", f"{found['view_kb_max']:.0f} kB", "205 kB"),
        ("memory of the page's process", f"{found['renderer_mb']:.0f} MB", "350 MB"),
        *([("heap of the page's scripts, first and last of "
            f"{len(found['heap_mb'])} looks while it follows", f"{found['heap_mb'][0]:.1f} and "
            f"{found['heap_mb'][-1]:.1f} MB (at most {max(found['heap_mb']):.1f})", "flat")]
          if "heap_mb" in found else []),
        ("memory of castscope, after the events at once", f"{found['server_mb']:.0f} MB", ""),
        ("page, gzipped", f"{found['bundle_kb']:.0f} kB", "150 kB"),
    ]
    lines = [f"`scripts/bench-ui` on {machine()}: {found['events']:,} events in {LANES} lanes, {found['rate']:,} a "
             f"second arriving, Chromium without a GPU, {SIZE['width']}x{SIZE['height']}.", "",
             "| | measured | target |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {what} | {told} | {target} |" for what, told, target in rows)])


KINDS = {"training": "a small training", "many-findings": "10,000 sites with a finding each",
         "many-lanes": "512 lanes", "one-event": "one cast"}


def render_states(found):
    lines = ["", "Each panel, each view below the timeline, a search and the findings from top to bottom, in finished "
             "runs (tasks of the page's main thread; target 100 ms):", "",
             "| run | longest task: median of the rounds (least to most) | first picture | heap |", "|---|---|---|---|"]
    for kind, of in found.items():
        longest = of["task_max"]
        # Chromium tells of tasks above 50 ms alone.
        words = [f"{ms:.0f} ms" if ms > 0 else "under 50 ms"
                 for ms in (statistics.median(longest), longest[0], longest[-1])]
        told = words[0] if longest[-1] == 0 else f"{words[0]} ({words[1]} to {words[2]})"
        lines.append(f"| {KINDS[kind]} | {told} | {of['first_ms']:.0f} ms | {of['heap_mb']:.1f} MB |")
    return "\n".join([*lines, ""])


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench-ui", description=__doc__)
    parser.add_argument("--only", default="page,states,peers", metavar="A,B",
                        help="page: ours, live; states: ours, runs of all kinds; peers: ours beside Perfetto's and "
                        "speedscope's")
    parser.add_argument("--events", type=int, default=10_000_000, help="stored before anybody looks")
    parser.add_argument("--rate", type=int, default=100_000, help="events a second that arrive meanwhile")
    parser.add_argument("--seconds", type=int, default=20, help="of zooming, and of following")
    parser.add_argument("--heap-seconds", type=int, default=0, help="of following, while the heap is looked at")
    parser.add_argument("--rounds", type=int, default=5, help="first pictures, and turns of the peers")
    parser.add_argument("--peer-events", type=int, default=1_000_000, help="in the run that all three are given")
    parser.add_argument("--print", action="store_true", help="print the table and write nothing")
    return parser.parse_args()


def main():
    given = arguments()
    found = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    if "page" in given.only:
        found["page"] = measure(given)
    if "states" in given.only:
        found["states"] = measure_states(given)
    if "peers" in given.only:
        found["peers"] = {"events": given.peer_events, "viewers": viewer_peers.measure(given.peer_events, given.rounds)}
    print(json.dumps(found), file=sys.stderr)
    text = "\n".join([BEGIN, *([render(found["page"])] if "page" in found else []),
                      *([render_states(found["states"])] if "states" in found else []),
                      *([viewer_peers.render(found["peers"]["viewers"], found["peers"]["events"])] if "peers" in found
                        else []), END])
    if given.print:
        return print(text)
    FIGURES.write_text(json.dumps(found, indent=1))
    page = PAGE.read_text()
    if BEGIN in page:
        before, rest = page.split(BEGIN, 1)
        page = before + text + rest.split(END, 1)[1]
    else:
        page = page.rstrip() + "\n\n## The viewer\n\n" + text + "\n"
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
