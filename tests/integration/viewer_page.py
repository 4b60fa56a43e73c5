"""The viewer's page in a real Chromium, for the tests that look at it: import the fixtures where they are used."""

import re
import subprocess

import pytest

pytest.importorskip("playwright")
import chromium
from chromium import until
from program import BUILD

HAS_CHROMIUM = pytest.mark.skipif(chromium.PROGRAM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def browser():
    return chromium.shared()


@pytest.fixture
def look(browser, view):
    """Opens pages; whatever they complained of fails the test. They are closed before what they look at ends."""
    browser.complaints.clear()
    pages = []

    def open_page(url, **options):
        pages.append(browser.open(url, **options))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()
    assert browser.complaints == []


def make_sample(kind, folder):
    """Makes a run that is the same each time (sample_run.cc)."""
    program = BUILD / "tests" / "integration" / "sample_run"
    subprocess.run([program, kind, folder / f"{kind}.castscope"], check=True)
    return f"{kind}.castscope"


@pytest.fixture
def sample(castscope, view):
    """Opens such a run."""
    return lambda kind: view(make_sample(kind, castscope.folder))


def opened(look, sample, kind, **options):
    """The page of a sample that it has read to its end."""
    page = look(sample(kind).url, **options)
    until(page, "() => document.querySelector('.header .state').textContent.includes('finished')")
    return page


def facts(page):
    """The numbers at the top, by their words."""
    told = page.locator(".header .facts").inner_text()
    found = re.findall(r"([\d,]+)\s+(cast|from the cache|step)", told)
    return {words: int(number.replace(",", "")) for number, words in found}


def coloured(page):
    """How many different colours the lanes show: an empty timeline has few."""
    return page.evaluate("""() => {
        const canvas = document.querySelector('canvas.lanes');
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
        return seen.size;
    }""")


def window_of(page):
    """The stretch that is shown, from the address: (begin, end) in ns, None for all."""
    page.wait_for_timeout(400)  # the address follows a quarter of a second behind
    return window_in(page.url)


def window_in(address):
    found = re.search(r"[#&]t=(-?\d+)(?:~|%7E)(-?\d+)", address)
    return (int(found[1]), int(found[2])) if found else None


# Panels that share a tab with another one, which is shown first.
BEHIND = {"source": "detail", "list": "selection"}


def tab(page, title):
    """Opens a panel."""
    panels = page.get_by_role("tablist", name="Panels")
    first = BEHIND.get(title, title)
    panels.get_by_role("tab", name=re.compile(first, re.IGNORECASE)).click()
    if title in (*BEHIND, *BEHIND.values()):
        page.get_by_role("tablist", name="Views of this panel").get_by_role(
            "tab", name=re.compile(title, re.IGNORECASE)).click()
    return page.get_by_role("tabpanel")
