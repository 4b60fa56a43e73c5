"""Links within the documents lead to files and headings that are there; every page can be reached from README.md."""

import functools
import re

import pytest
from blocks import FENCE, PAGES, ROOT

LINK = re.compile(r"\]\(([^)\s]+)\)")


@functools.cache
def text_of(page):
    return FENCE.sub("", (ROOT / page).read_text())


def anchors_of(page):
    """As GitHub makes them of headings."""
    titles = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in titles)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in plain}


def links_of(page):
    """(file, anchor) of each link that is none to the network."""
    for link in LINK.findall(text_of(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        yield link, target.resolve(), anchor


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page):
    wrong = []
    for link, target, anchor in links_of(page):
        if not target.exists():
            wrong.append(link)
        elif anchor and target.suffix == ".md" and anchor not in anchors_of(str(target.relative_to(ROOT))):
            wrong.append(link)
    assert wrong == []


def test_every_page_is_reached_from_the_readme():
    reached, to_do = set(), ["README.md"]
    while to_do:
        page = to_do.pop()
        if page in reached:
            continue
        reached.add(page)
        to_do += [str(target.relative_to(ROOT)) for _, target, _ in links_of(page)
                  if target.suffix == ".md" and target.is_relative_to(ROOT)]
    assert set(PAGES) <= reached
