"""A real Chromium that looks at the viewer."""

import atexit
import functools
import os
import shutil
import time

from playwright.sync_api import sync_playwright

# The shell is the same engine without the windows around a page: it takes some 30 % less of the CPU.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
PROGRAM = os.environ.get("CASTSCOPE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
# Nothing but the page itself: no GPU, no calls home.
OPTIONS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--no-sandbox"]


PATIENCE_S = 300


def until(page, expression, argument=None):
    """Waits until a function of the page returns something. (The page's policy forbids Playwright's own way.)"""
    deadline = time.monotonic() + PATIENCE_S
    while not (told := page.evaluate(expression, argument)):
        assert time.monotonic() < deadline, f"never true: {expression}"
        page.wait_for_timeout(30)
    return told


class Chromium:
    """Opens pages, and remembers their complaints: a page that works complains of nothing."""

    def __init__(self, playwright):
        self.browser = playwright.chromium.launch(executable_path=PROGRAM, args=OPTIONS)
        self.complaints = []

    def open(self, url, width=1280, height=800, scheme="light", ready=True):
        page = self.browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.set_default_timeout(PATIENCE_S * 1000)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.goto(url)
        if ready:
            page.wait_for_selector("section.timeline canvas.lanes")
            until(page, "() => document.querySelector('.header .facts b') !== null")
        return page


def started():
    """Playwright, for a program of its own: a thread can have only one at a time."""
    return sync_playwright()


@functools.cache
def shared():
    """A browser for all tests of the process. Whatever they open in it, they close."""
    playwright = started().start()
    atexit.register(playwright.stop)
    chromium = Chromium(playwright)
    atexit.register(chromium.browser.close)  # Before Playwright ends: what is registered last is called first.
    return chromium
