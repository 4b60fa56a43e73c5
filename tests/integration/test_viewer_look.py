"""How the timeline looks, in a real Chromium: rows that carry meaning, and a legend that counts what is there."""

import collections
import itertools
import re
import statistics

import pytest

pytest.importorskip("playwright")
from chromium import until
from gated import have
from viewer_page import HAS_CHROMIUM, browser, facts, look, sample  # noqa: F401

pytestmark = HAS_CHROMIUM
LEAST_PX = 24

# Casts take a small part of the time. Some are not autocast's, some go up.
JOB = """\
import time
import torch

layer = torch.nn.Linear(64, 64)
values = torch.ones(4, 64)
for _ in range(6):
    with torch.autocast("cpu", torch.bfloat16):
        result = layer(values)
        layer(values)
        time.sleep(0.03)
        with torch.autocast("cpu", enabled=False):
            time.sleep(0.04)
    for _ in range(3):
        wide = result.float()
        wide.to(torch.float64)
    wide.sum().backward()
    time.sleep(0.03)
"""
CAST_KINDS = ("cast down", "cast up", "cast, other dtype")


@pytest.fixture
def seen(castscope, python):
    have(castscope, python, JOB)
    return castscope.report()


def legend(page):
    return page.get_by_role("toolbar", name=re.compile("Legend"))


def counted(page):
    until(page, """() => [...document.querySelectorAll('.legend button b')]
        .some((count) => /\\d/.test(count.textContent))""")
    return legend(page)


def entries(page):
    """The legend's numbers, by name."""
    told = {}
    for button in counted(page).get_by_role("button").all():
        name, count = re.fullmatch(r"(.*?)\s*([\d,]+)", button.inner_text().replace("\n", " ")).groups()
        told[name] = int(count.replace(",", ""))
    return told


def parts(page):
    """What each number is made of, by name: {"bfloat16": {"cast down": 3}}."""
    told = {}
    for button in counted(page).get_by_role("button").all():
        name = re.sub(r"\s*[\d,]+$", "", button.inner_text().replace("\n", " "))
        within = (button.get_attribute("title").partition("in view: ")[2]).partition(" ·")[0]
        counts = re.findall(r"([\d,]+) (cast, other dtype|[a-z][^,]*)", within)
        told[name] = {kind: int(count.replace(",", "")) for count, kind in counts}
    return told


def casts_in(page):
    """The casts of each entry that has any, whatever their kind."""
    sums = {name: sum(kinds.get(kind, 0) for kind in CAST_KINDS) for name, kinds in parts(page).items()}
    return {name: count for name, count in sums.items() if count > 0}


def drawn(page, name):
    """The pixels of the lanes in the colour that the legend has for this name, from the row of casts down: for each x
    the first and the last y, device px."""
    return page.evaluate("""(name) => {
        const button = [...document.querySelectorAll('.legend button')].find((one) => one.textContent.startsWith(name));
        const wanted = getComputedStyle(button.querySelector('.swatch i')).backgroundColor.match(/\\d+/g).map(Number);
        const canvas = document.querySelector('canvas.lanes');
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const columns = {};
        const top = 45 * devicePixelRatio;
        for (let y = top; y < canvas.height; y += 1)
            for (let x = 0; x < canvas.width; x += 1) {
                const at = (y * canvas.width + x) * 4;
                if (wanted.every((value, i) => Math.abs(data[at + i] - value) <= 1)) (columns[x] ??= []).push(y);
            }
        return Object.values(columns).map((ys) => [Math.min(...ys), Math.max(...ys)]);
    }""", name)


def painted(page, name):
    until(page, """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))""")
    for _ in range(100):
        if columns := drawn(page, name):
            return columns
        page.wait_for_timeout(50)
    raise AssertionError(f"nothing is drawn of {name}")


def first_cast(viewer, kind):
    """A cast of this kind: (begin, end)."""
    run = viewer.loaded()
    row = next(track["track"] for track in run["tracks"] if track["track_kind"] == "casts")
    hidden = ",".join(str(shade["shade"]) for shade in run["shades"] if shade["shade_kind"] != kind)
    told = viewer.json(f"runs/run/neighbour?at_ns=-1&direction=next&track={row}&hidden_shades={hidden}")["event"]
    return told["begin_ns"], told["end_ns"]


def test_a_column_is_as_high_as_it_is_full(look, view, seen):
    viewer = view("run.castscope")
    page = look(viewer.url)
    counted(page)
    far = painted(page, "cast down")
    begin, end = first_cast(viewer, "down")
    page = look(f"{viewer.url}#t={begin - (end - begin)}~{end + (end - begin)}")
    counted(page)
    full = max(last - first + 1 for first, last in painted(page, "cast down"))
    assert full > 40, "a cast that fills its columns fills its half of the row"
    # The first cast of a process takes some ms.
    usual = statistics.median(last - first + 1 for first, last in far)
    assert usual < full / 3, "rare casts look as if they took all the time"


def test_casts_down_hang_from_a_line_and_casts_up_stand_on_it(look, view, seen):
    page = look(view("run.castscope").url)
    counted(page)
    down, up = painted(page, "cast down"), painted(page, "cast up")
    assert max(last for _, last in up) < min(first for first, _ in down)
    assert abs(max(last for _, last in up) - min(first for first, _ in down)) <= 2


def test_few_lanes_take_the_room(look, view, seen):
    page = look(view("run.castscope").url, width=1600, height=900)
    page.locator(".gutter-row.lane").first.wait_for()
    lane = page.locator(".gutter-row.lane").first.bounding_box()
    assert lane["height"] > 150
    parts = page.locator(".gutter-row.lane").first.locator(".part")
    assert [text for text in parts.all_inner_texts() if text.startswith("casts")] == ["casts up", "casts down"]


def test_where_autocast_is_off_is_hatched(look, view, seen):
    page = look(view("run.castscope").url)
    counted(page)
    until(page, """() => {
        const canvas = document.querySelector('canvas.lanes');
        const {data} = canvas.getContext('2d').getImageData(0, 25 * devicePixelRatio, canvas.width, 1);
        const words = Array.from({length: canvas.width}, (_, x) => [...data.slice(4 * x, 4 * x + 3)].join());
        // Lines and gaps by turns, several times.
        let turns = 0;
        for (let x = 6; x + 6 < words.length; x += 1)
            if (words[x] !== words[x + 3] && words[x] === words[x + 6] && words[x] === words[x - 6]) turns += 1;
        return turns > 10;
    }""")
    swatch = legend(page).get_by_role("button", name=re.compile("^autocast off")).locator(".swatch i")
    assert "repeating-linear-gradient" in swatch.evaluate("(element) => getComputedStyle(element).backgroundImage")


def test_header_and_legend_count_the_same_casts(look, view, seen):
    page = look(view("run.castscope").url)
    totals = seen["totals"]
    others = sum(one["casts"] for one in totals["by_cause"] if one["cause"] != "autocast")
    assert totals["casts"] > 0 and others > 0
    assert facts(page)["cast"] == totals["casts"]
    told = page.locator(".header .facts").inner_text()
    assert f"{totals['casts']} casts by autocast" in re.sub(r"\s+", " ", told)
    assert f"{others} other casts" in re.sub(r"\s+", " ", told)
    counted(page).get_by_text(
        f"in view {totals['casts'] + others} casts: {totals['casts']} by autocast, {others} other").wait_for()
    kinds = entries(page)
    assert sum(kinds.get(kind, 0) for kind in CAST_KINDS) == totals["casts"] + others
    assert kinds["cache hit"] == totals["cache_hits"]


def test_the_legend_counts_by_dtype_and_by_cause(look, view, seen):
    viewer = view("run.castscope")
    by_dtype, by_cause = collections.Counter(), collections.Counter()
    for site in seen["sites"]:
        by_dtype[site["to_dtype"]] += site["casts"]
        by_cause[site["cause"]] += site["casts"]
    page = look(f"{viewer.url}#by=dtype")
    assert casts_in(page) == dict(by_dtype)
    page = look(f"{viewer.url}#by=cause")
    names = {"autocast": "autocast", "user_to": "explicit to()", "backward": "backward"}
    assert casts_in(page) == {names[cause]: count for cause, count in by_cause.items()}


def test_numbers_are_those_of_the_stretch_in_view(look, view, seen):
    viewer = view("run.castscope")
    begin, end = first_cast(viewer, "up")
    page = look(f"{viewer.url}#t={begin}~{end}")
    assert entries(page)["cast up"] == 1
    counted(page).get_by_text("in view 1 cast:").wait_for()


def test_by_cost_no_colour_of_a_kind_is_explained(look, view, seen):
    page = look(f"{view('run.castscope').url}#by=cost")
    counted(page)
    told = legend(page).get_by_role("button", name=re.compile("^cast (down|up)"))
    colours = told.locator(".swatch i").evaluate_all("(all) => all.map((one) => getComputedStyle(one).backgroundColor)")
    assert len(colours) == 2 and len(set(colours)) == 1


def test_the_legend_has_only_what_occurs(look, sample):
    viewer = sample("one-event")
    for by in ("kind", "cost"):
        told = entries(look(f"{viewer.url}#by={by}"))
        assert "cast down" in told and "cast up" not in told and "cache hit" not in told
        assert all(count > 0 for count in told.values()), told


def test_the_legend_is_one_stop_and_arrows_move_in_it(look, view, seen):
    page = look(view("run.castscope").url)
    buttons = counted(page).get_by_role("button")
    assert [one.get_attribute("tabindex") for one in buttons.all()].count("0") == 1
    focused = "() => document.activeElement.textContent"
    buttons.first.focus()
    first = page.evaluate(focused)
    page.keyboard.press("ArrowRight")
    second = page.evaluate(focused)
    page.keyboard.press("End")
    last = page.evaluate(focused)
    page.keyboard.press("ArrowRight")
    assert first == page.evaluate(focused) and len({first, second, last}) == 3
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")  # hides it, and keeps the focus
    assert page.evaluate("() => document.activeElement.getAttribute('aria-pressed')") == "false"
    assert page.evaluate("() => document.activeElement.tabIndex") == 0
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.closest('.legend')") is None


def test_entries_are_large_enough(look, view, seen):
    page = look(view("run.castscope").url, width=1600)
    for width in 1600, 390:
        page.set_viewport_size({"width": width, "height": 800})
        for button in counted(page).get_by_role("button").all():
            box = button.bounding_box()
            assert box["height"] >= LEAST_PX and box["width"] >= LEAST_PX, width


def test_with_forced_colours_swatches_keep_theirs(look, view, seen):
    page = look(f"{view('run.castscope').url}#by=dtype", width=390, height=844)
    page.emulate_media(forced_colors="active")
    counted(page)
    colours = legend(page).get_by_role("button").locator(".swatch i").evaluate_all(
        "(all) => all.map((one) => getComputedStyle(one)).map((of) => of.backgroundColor + of.backgroundImage)")
    told = list(itertools.islice(colours, 3))
    assert len(set(told)) == 3, told
    assert painted(page, "float32")


NET = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8))
                                          for _ in range(2))
        self.head = torch.nn.Linear(8, 2)

    def forward(self, values):
        for layer in self.layers:
            values = layer(values)
        return self.head(values)


net = Net()
for _ in range(3):
    with torch.autocast("cpu", torch.bfloat16):
        loss = net(torch.ones(4, 8)).sum()
    loss.backward()
"""


def module_rows(viewer):
    """The intervals of each row of modules, from the top: [(name, begin, end)]."""
    run = viewer.loaded()
    told = viewer.json("runs/run/definitions")
    uses = {use["operator_use"]: f"{use['model']}.{use['module'] or ''}" for use in told["operator_uses"]}
    rows = []
    for track in run["tracks"]:
        if track["track_kind"] != "modules":
            continue
        rows.append([])
        at = -1
        while found := viewer.json(f"runs/run/neighbour?at_ns={at}&direction=next&track={track['track']}")["event"]:
            rows[-1].append((uses[found["subject"]], found["begin_ns"], found["end_ns"]))
            at = found["begin_ns"]
    return rows


@pytest.fixture
def net(castscope, python, view):
    have(castscope, python, NET, "run", "--deep", "always")
    return view("run.castscope")


def test_modules_have_rows_that_nest(look, net):
    rows = module_rows(net)
    assert len(rows) == 3  # Net; layers.0, layers.1, head; what a layer has, by number
    assert {name.partition(".")[0] for name, _, _ in rows[0]} == {"Net"}
    steps = [name for name, _, _ in rows[1]]
    assert steps[:3] == ["Net.layers.0.0", "Net.layers.1.0", "Net.head"]
    for outer, inner in itertools.pairwise(rows):
        for name, begin, end in inner:
            assert any(first <= begin and end <= last for _, first, last in outer), name
    for row in rows:
        for (_, _, end), (_, begin, _) in itertools.pairwise(row):
            assert end <= begin


def test_a_click_on_a_module_names_it(look, net):
    rows = module_rows(net)
    _, begin, end = rows[1][3]  # the first of a later step: nothing is set up in it any more
    page = look(f"{net.url}#t={begin - 1000}~{end + 1000}")
    counted(page)
    canvas = page.locator("canvas.lanes").bounding_box()
    lane = page.locator(".gutter-row.lane").first.bounding_box()
    heading = page.get_by_role("tabpanel").get_by_role("heading", name="Net.layers.0", exact=True)
    # From the top of the lane down: marks, the model, its parts.
    for below in range(8, 90, 6):
        page.mouse.click(canvas["x"] + canvas["width"] / 2, lane["y"] + below)
        page.wait_for_timeout(200)
        if heading.count() > 0:
            break
    heading.wait_for()
    with_casts = page.locator(".gutter-row.lane .name").first
    with_casts.click()  # a folded lane has casts alone
    until(page, "() => document.querySelector('.gutter-row.lane').clientHeight < 30")
