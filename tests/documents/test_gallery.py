"""docs/gallery.md: each of its mistakes is found as the page says, and its change mends it."""

import json
import re

import pytest
from blocks import ROOT, blocks_of, is_printed

PAGE = "docs/gallery.md"
# A section's blocks: the program, the command that runs it, what that prints, and the change.
LANGUAGES = ["python", "sh", "text", "diff"]
BLOCKS = blocks_of(PAGE)
SECTIONS = {re.search(r"-o (\w+) ", BLOCKS[at + 1].text)[1]: BLOCKS[at:at + 4]
            for at in range(0, len(BLOCKS), len(LANGUAGES))}
ROWS = re.findall(r"^\| (\d+) \| \[.*\| `([\w-]+)` \|", (ROOT / PAGE).read_text(), re.MULTILINE)


def changed(program, diff):
    """The program with the lines of a diff that has one hunk and no line numbers."""
    lines = diff.splitlines(keepends=True)
    before, after = ("".join(line[1:] for line in lines if line[0] in signs) for signs in ("- ", "+ "))
    assert program.count(before) == 1, "the diff does not say where the change is"
    return program.replace(before, after)


def before_and_after(name, fresh):
    """What the page's command printed, and the rules that found something, before the change and after it."""
    program, command, _, diff = SECTIONS[name]
    outcomes = []
    for text in (program.text, changed(program.text, diff.text)):
        (fresh.folder / f"{name}.py").write_text(text)
        for suffix in (".castscope", ".json"):
            (fresh.folder / f"{name}{suffix}").unlink(missing_ok=True)
        done = fresh.run(command.text)
        assert done.returncode == 0, done.stdout
        report = json.loads((fresh.folder / f"{name}.json").read_text())
        outcomes.append((done.stdout, [finding["rule"] for finding in report["findings"]]))
    return outcomes


@pytest.fixture(scope="module")
def tried(side_by_side):
    return side_by_side(before_and_after, "name")


def test_the_page_has_ten_sections_of_the_same_form():
    assert [block.language for block in BLOCKS] == 10 * LANGUAGES
    assert len(SECTIONS) == 10
    assert [int(number) for number, _ in ROWS] == list(range(1, 11))


@pytest.mark.parametrize(("name", "rule"), [(name, rule) for name, (_, rule) in zip(SECTIONS, ROWS, strict=True)])
def test_a_mistake_is_found_as_the_page_says_and_its_change_mends_it(name, rule, tried):
    (printed, found), (_, found_after) = tried[name]
    assert is_printed(SECTIONS[name][2].text, printed), printed
    assert found == [rule]
    assert found_after == []


def test_a_change_has_one_place():
    assert changed("a\nb\nc\n", "-b\n+d\n+e\n c\n") == "a\nd\ne\nc\n"
    with pytest.raises(AssertionError):
        changed("a\nb\nb\n", "-b\n+c\n")
