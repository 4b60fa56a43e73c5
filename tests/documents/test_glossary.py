"""docs/glossary.md has the words that a reader meets, each in a few sentences, and pages lead to it."""

import re

import pytest
from blocks import ROOT

PAGE = (ROOT / "docs/glossary.md").read_text()
ENTRIES = dict(re.findall(r"^- \*\*([^*]+)\*\*: (.+)$", PAGE, re.MULTILINE))
WORDS = {"deep step", "region", "stay", "pass-through", "site", "lane", "cast", "hit", "kept", "cause", "role", "phase",
         "behaviour", "step", "rank", "relay", "collector", "agent", "preload", "policy", "looked at", "judged", "fact",
         "flow", "operator use", "segment", "event", "run file", "finding", "rule", "timed step", "traced", "mode"}
LEAD_THERE = ["README.md", "docs/architecture.md", "docs/ci.md", "docs/first-finding.md", "docs/gpu.md",
              "docs/lanes.md", "docs/life-of-a-cast.md", "docs/package.md", "docs/policies.md", "docs/reports.md",
              "docs/run-file.md", "docs/decisions/deep-steps.md"]


def test_it_has_the_words():
    assert WORDS <= set(ENTRIES)
    assert len(ENTRIES) == len(re.findall(r"^- ", PAGE, re.MULTILINE)), "a word stands there twice"


@pytest.mark.parametrize("word", sorted(ENTRIES))
def test_a_word_takes_a_few_sentences(word):
    text = ENTRIES[word]
    assert text.endswith(".")
    assert len(re.findall(r"[.:] (?=[A-Z\[`])|\.$", text)) <= 3


@pytest.mark.parametrize("page", LEAD_THERE)
def test_a_page_leads_there(page):
    assert re.search(r"\]\((\.\./|docs/)?glossary\.md", (ROOT / page).read_text())


def test_closed_lists_have_the_words_that_the_code_has():
    lists = (ROOT / "agent/lanes/closed_lists.h").read_text()
    for name, words in ("CASTSCOPE_ROLES", ENTRIES["role"]), ("CASTSCOPE_PHASES", ENTRIES["phase"]):
        values = re.search(rf"#define {name}\(VALUE\)(.*?)\n\n", lists, re.DOTALL)[1]
        assert set(re.findall(r'VALUE\(\w+, \d+, "(\w+)"', values)) - {"unknown"} <= set(re.findall(r"`(\w+)`", words))
