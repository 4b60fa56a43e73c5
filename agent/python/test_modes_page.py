"""A comparison as a page, and as the table in a run's report."""

import html.parser
import json

import castscope
import pytest
import torch
from castscope import compare
from castscope.modes import as_table, page
from torch.nn import functional as F

X = torch.ones(4, 4)


class Tables(html.parser.HTMLParser):
    """Rows of each table; checks that every element that is opened is closed, in order."""

    EMPTY = frozenset(("meta", "input", "br"))

    def __init__(self, text):
        super().__init__()
        self.tables, self.open, self.texts = [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data


def gelu_then_tanh(x, y):
    return F.gelu(x @ y).tanh()


def not_for_scripts(*values):
    return values


@pytest.fixture(scope="module")
def gelu():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return compare(gelu_then_tanh, (X, X), ["script", "export"])


def test_a_row_for_each_operator_and_a_column_for_each_mode(gelu):
    head, *rows = Tables(gelu.to_html()).tables[0]
    assert head == ["line", "module", "operator", "eager", "script", "export"]
    assert [row[2:] for row in rows] == [["mm", "bf16", "bf16", "f32 !"], ["gelu", "bf16", "f32 !", "f32 ~"],
                                         ["tanh", "bf16", "f32 ~", "f32 ~"]]
    assert all("test_modes_page.py:" in row[0] for row in rows)


def test_values_have_a_table(gelu):
    head, *rows = Tables(gelu.to_html()).tables[1]
    assert head[:3] == ["mode", "output", "dtype"]
    assert [row[:3] for row in rows] == [["script", "the result", "f32, eager bf16"],
                                         ["export", "the result", "f32, eager bf16"]]


def test_a_mode_that_refuses_is_said_and_names_are_no_markup():
    found = compare(not_for_scripts, (X,), ["script"], name="<b>&")
    texts = "".join(Tables(found.to_html()).texts)
    assert "script: not available: " in texts and "<b>&" in texts
    assert f"test_modes_page.py:{not_for_scripts.__code__.co_firstlineno}" in texts


def test_several_make_one_page(gelu):
    assert len(Tables(page.page([gelu, gelu])).tables) == 4


def test_a_notebook_gets_a_part(gelu):
    part = gelu._repr_html_()
    assert part.startswith("<div") and len(Tables(part).tables) == 2


def test_the_table_says_what_to_json_says(gelu):
    table, whole = json.loads(json.dumps(as_table.as_table(gelu))), gelu.to_json()["comparisons"][0]

    def verdicts(told):
        return [(row["shared_operator"], [cell["verdict"] for cell in row["by_mode"].values()])
                for row in told["operators"]]

    assert verdicts(table) == verdicts(whole)
    assert [(mode["mode"], mode["difference_count"], mode["follower_count"]) for mode in table["modes"]] == [
        ("script", 1, 1), ("export", 1, 2)]


def test_of_a_large_one_what_agrees_is_left_out_first(gelu, monkeypatch):
    monkeypatch.setattr(as_table, "_MOST_ROWS", 2)
    table = as_table.as_table(gelu)
    assert [row["shared_operator"] for row in table["operators"]] == ["mm", "gelu"] and table["left_out_count"] == 1


def test_it_is_told_where_castscope_watches_and_not_without_end(gelu, monkeypatch):
    told = []
    monkeypatch.setattr(castscope, "compared", told.append)
    as_table.tell(gelu)
    assert told == []
    monkeypatch.setattr(castscope, "attached", lambda: True)
    monkeypatch.setattr(as_table, "_told", as_table._MOST_COMPARISONS - 1)
    as_table.tell(gelu), as_table.tell(gelu)
    assert len(told) == 1 and json.loads(told[0])["compared_function"] == "gelu_then_tanh"
