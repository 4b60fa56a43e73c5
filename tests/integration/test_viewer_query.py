"""SQL on a run in the viewer's page: what is asked, what comes back, and what is not done."""

import re
import sqlite3
import subprocess
import urllib.parse

import pytest

pytest.importorskip("playwright")
from chromium import until
from program import ROOT, clean_environment
from viewer import ENDLESS, live_url
from viewer_page import HAS_CHROMIUM, browser, look, tab  # noqa: F401

pytestmark = HAS_CHROMIUM
FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def ask(page, sql, key="Control+Enter"):
    panel = tab(page, "SQL")
    box = panel.get_by_role("textbox", name="SQL")
    box.fill(sql)
    box.press(key)
    return panel


def cells(panel):
    return [row.locator("td").all_inner_texts() for row in panel.locator("table tbody tr").all()]


def file_rows(castscope, sql):
    with sqlite3.connect(castscope.folder / "run.castscope") as database:
        return [["NULL" if cell is None else str(cell) for cell in row] for row in database.execute(sql)]


def test_the_rows_are_those_of_the_file(castscope, look, view, recorded):
    page = look(view("run.castscope").url)
    sql = "SELECT file, line, operator, why_not_cached, casts FROM v_sites ORDER BY casts, site"
    panel = ask(page, sql)
    panel.get_by_role("table", name="Result").wait_for()
    assert cells(panel) == file_rows(castscope, sql)
    assert panel.locator("thead th").all_inner_texts() == ["file", "line", "operator", "why_not_cached", "casts"]
    panel.get_by_role("button", name="casts").click()
    assert cells(panel)[0][4] == str(max(int(row[4]) for row in cells(panel)))
    with page.expect_download() as saved:
        panel.get_by_role("button", name="Save").click()
    lines = open(saved.value.path(), newline="").read().split("\r\n")
    assert lines[0] == "file,line,operator,why_not_cached,casts" and len(lines) == len(cells(panel)) + 2
    panel.locator("tbody tr").first.click()  # a row with a place leads to the source
    page.get_by_role("tabpanel").get_by_text("all files").wait_for()


def test_every_view_has_a_query_that_runs(look, view, recorded):
    """Those of docs/run-file.md, and each gives no error."""
    document = (ROOT / "docs/run-file.md").read_text()
    told = re.search(r"\| view \| a row is \|\n\|---\|---\|\n(.*?)\n\n", document, re.DOTALL)[1]
    documented = {name for line in told.splitlines() for name in re.findall(r"`(v_\w+|relays)`", line.split("|")[1])}
    viewer = view("run.castscope")
    page = look(viewer.url)
    panel = tab(page, "SQL")
    buttons = panel.locator(".sql-examples button").all()
    assert {button.inner_text() for button in buttons} == documented
    for button in buttons:
        button.click()
        sql = panel.get_by_role("textbox", name="SQL").input_value()
        assert f"FROM {button.inner_text()}" in sql
        viewer.json("runs/run/query?" + urllib.parse.urlencode({"sql": sql}))
    panel.get_by_role("button", name="v_totals", exact=True).click()
    panel.get_by_role("button", name="Run", exact=True).click()
    panel.get_by_role("table", name="Result").get_by_text(str(recorded["totals"]["casts"]), exact=True).first.wait_for()


def test_a_link_carries_the_query_and_does_not_run_it(look, view, recorded):
    viewer = view("run.castscope")
    page = look(viewer.url)
    ask(page, "SELECT 'from a link' AS words").get_by_text("from a link", exact=True).wait_for()
    until(page, "() => location.hash.includes('sql=')")
    other = look("about:blank", ready=False)
    asked = []
    other.on("request", lambda request: asked.append(request.url))
    other.goto(page.url)
    panel = other.get_by_role("tabpanel")
    panel.get_by_text("It runs when you press Run").wait_for()
    assert panel.get_by_role("textbox", name="SQL").input_value() == "SELECT 'from a link' AS words"
    until(other, "() => document.querySelector('.header .facts b') !== null")
    assert asked and not [url for url in asked if "/query" in url]
    assert panel.get_by_role("table", name="Result").count() == 0
    panel.get_by_role("button", name="Run", exact=True).click()
    panel.get_by_role("table", name="Result").get_by_text("from a link").wait_for()


def refused(browser, page, sql, words):
    """The answer has status 400, of which the browser complains in its console."""
    ask(page, sql).get_by_text(words).wait_for()
    assert len(browser.complaints) == 1 and "400" in browser.complaints[0]
    browser.complaints.clear()


def test_what_is_wrong_is_said_with_its_place(browser, look, view, recorded):
    page = look(view("run.castscope").url)
    refused(browser, page, "SELECT file,\n  lin FROM v_sites", "no such column: lin (line 2, column 3)")
    refused(browser, page, "DELETE FROM sites", "only SELECT and what else only reads")
    ask(page, "SELECT count(*) FROM sites").get_by_role("table", name="Result").wait_for()


def test_rows_beyond_ten_thousand_are_counted(look, view, recorded):
    page = look(view("run.castscope").url)
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10030) SELECT i FROM n"
    panel = ask(page, many)
    panel.get_by_text("10,000 rows; the first of 10,030: 30 are left out").wait_for()
    assert len(cells(panel)) == 100
    panel.get_by_role("button", name="9,900 more").click()
    assert len(cells(panel)) == 600


def test_a_query_is_cancelled_and_holds_up_nothing(look, view, recorded):
    viewer = view("run.castscope")
    page = look(viewer.url)
    panel = ask(page, FOREVER)
    cancel = panel.get_by_role("button", name="Cancel")
    cancel.wait_for()
    tab(page, "sites").get_by_role("table", name="Sites").wait_for()  # the rest goes on
    panel = tab(page, "SQL")
    cancel.click()
    panel.get_by_text("Cancelled.").wait_for()
    # Its place is free at once, not after ten seconds: the server saw that nobody waits any more.
    response, body = viewer.ask("api/v2/runs/run/query?sql=SELECT%201")
    assert response.status == 200, body
    result = ask(page, "SELECT 'after it'").get_by_role("table", name="Result")
    result.get_by_text("after it", exact=True).last.wait_for()


def test_a_query_that_takes_too_long_is_stopped(look, view, recorded):
    """The page names no limit. The server's own, 10 s, would keep a core busy for as long, so here it is less."""
    viewer = view("run.castscope")
    page = look(viewer.url)
    asked = []

    def hasten(route):
        asked.append(route.request.url)
        route.continue_(url=route.request.url + "&time_limit_ms=300")

    page.route("**/query?*", hasten)
    ask(page, FOREVER).get_by_text("stopped after 0.3 s").wait_for()
    assert len(asked) == 1 and "time_limit_ms" not in asked[0]
    viewer.json("runs/run/query?sql=SELECT+1&time_limit_ms=10000")
    assert "10000" in viewer.json("runs/run/query?sql=SELECT+1&time_limit_ms=10001", status=400)["detail"]


def test_a_run_is_asked_while_it_goes_on(castscope, look, python):
    command = [castscope.program, "run", "--live", "-o", castscope.folder / "live", "--", python, "-c", ENDLESS]
    job = subprocess.Popen(command, env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, cwd=castscope.folder)
    try:
        page = look(live_url(job.stderr).url)
        counts = []
        while len(set(counts)) < 3:  # the file grows
            panel = ask(page, f"SELECT casts, {len(counts)} AS turn FROM v_totals")
            panel.get_by_role("table", name="Result").wait_for()
            until(page, f"() => document.querySelector('.panel td:nth-child(2)')?.textContent === '{len(counts)}'")
            counts.append(int(cells(panel)[0][0]))
        assert counts == sorted(counts)
        page.close()
    finally:
        job.communicate(b"\n")
    assert job.returncode == 7
