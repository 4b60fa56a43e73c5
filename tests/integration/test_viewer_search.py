"""The search of the viewer's page, on a real run: what it finds is counted again in the JSON report."""

import re
import urllib.parse

import pytest

pytest.importorskip("playwright")
from chromium import until
from gated import have, line_of
from viewer_page import HAS_CHROMIUM, browser, look, tab  # noqa: F401

pytestmark = HAS_CHROMIUM

# Explicit casts, a promotion, a region without cache, a module whose path begins as another's does, and a second model.
JOB = """import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8, 8))
        self.scale = torch.nn.Parameter(torch.ones(8))
        self.encoder = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
        self.encoders = torch.nn.Linear(8, 8)

    def forward(self, x):
        x = torch.nn.functional.linear(x, self.weight)
        x = self.encoders(self.encoder(x)) * self.scale
        return x.to(torch.bfloat16).to(torch.float32)

net = Net()
frozen = torch.nn.Linear(8, 8).requires_grad_(False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(3):
    with torch.autocast("cpu", torch.bfloat16):
        loss = frozen(net(torch.ones(4, 8)) + net(torch.ones(4, 8))).float().sum()
    loss.backward()
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        net.encoder(torch.ones(2, 8))
        net.encoder(torch.ones(2, 8))
    optimizer.step()
    optimizer.zero_grad()
"""


class Searched:
    """The page of a run with its search box, and the report of the same run."""

    def __init__(self, page, report):
        self.page, self.report = page, report
        self.box = page.get_by_role("combobox", name="Search events")
        self.options = page.get_by_role("listbox", name="What may be typed").get_by_role("option")

    def find(self, text):
        """How many events it finds in the timeline, and how many casts and cache hits in the whole run."""
        with self.page.expect_response(lambda answer: "/find?" in answer.url):
            self.box.fill(text)
        until(self.page, r"() => /^([\d,]+|none)$/.test(document.querySelector('.search output').textContent)")
        events = self.page.locator(".search output").inner_text().replace(",", "")
        told = self.page.locator(".search output").get_attribute("title")
        casts = re.search(r"The whole run: ([\d,]+) casts and cache hits", told)
        return 0 if events == "none" else int(events), int(casts[1].replace(",", "")) if casts else 0

    def casts(self, holds):
        """The casts and cache hits of the report's sites for which this holds."""
        return sum(site["casts"] + site["cache_hits"] for site in self.report["sites"] if holds(site))


@pytest.fixture
def searched(look, view, castscope, python):
    have(castscope, python, JOB, "run", "--deep", "always")
    page = look(view("run.castscope").url)
    until(page, "() => document.querySelector('.header .state').textContent.includes('finished')")
    return Searched(page, castscope.report())


def has(**values):
    return lambda site: all(site[name] == value for name, value in values.items())


def in_encoder(row):
    return (row["module"] or "").split(".")[0] == "encoder"


def test_what_the_page_prints_is_found(searched):
    down, explicit = has(from_dtype="float32", to_dtype="bfloat16"), has(cause="user_to")
    without_cache = has(why_not_cached="cache_disabled")
    for text, holds in {"fp32→bf16": down, "fp32->bf16": down, '"float32 → bfloat16"': down, "user_to": explicit,
                        '"explicit to()"': explicit, "promotion": has(cause="promotion"),
                        "cache_disabled": without_cache, '"cache disabled"': without_cache,
                        "Net.weight": has(model="Net", module="", role="weight", argument="weight")}.items():
        events, casts = searched.find(f"{text} kind:cast,hit")
        assert events == casts == searched.casts(holds) > 0, text


def test_fields_find_exactly_what_they_name(searched):
    line = line_of(JOB, "self.weight)")
    in_code = has(role="weight", module="encoder.0", argument="weight")
    without_cache = [region["region"] for region in searched.report["regions"] if not region["cache_enabled"]]
    finding = next(one for one in searched.report["findings"] if one["rule"] == "weight-cast-repeatedly")
    at = finding["location"]["line"]
    for text, holds in {"cause:autocast": has(cause="autocast"), "role:weight": has(role="weight"),
                        "from:bfloat16": has(from_dtype="bfloat16"), "to:bf16": has(to_dtype="bfloat16"),
                        "dtype:fp32 cause:user_to": has(cause="user_to"), "module:encoder": in_encoder,
                        "module:encoder.2": has(module="encoder.2"), "op:linear": has(operator="aten::linear"),
                        "model:Net -module:encoder": lambda site: site["model"] == "Net" and not in_encoder(site),
                        "argument:bias": has(argument="bias"), "weight:encoder.0.weight": in_code,
                        "rule:weight-cast-repeatedly": lambda site: site["location"]["line"] == at,
                        f"file:train.py:{line}": lambda site: site["location"]["line"] == line,
                        "function:Net.forward": lambda site: site["location"]["function"] == "Net.forward",
                        "phase:backward": has(phase="backward"),
                        "cache:cache_disabled,not_leaf":
                            lambda site: site["why_not_cached"] in ("cache_disabled", "not_leaf"),
                        "-cause:autocast,backward not cause:promotion": has(cause="user_to"),
                        f"region:train.py:{line_of(JOB, 'cache_enabled')}":
                            lambda site: site["region"] in without_cache}.items():
        events, casts = searched.find(f"{text} kind:cast,hit")
        assert events == casts == searched.casts(holds) > 0, text
    hits = sum(site["cache_hits"] for site in searched.report["sites"])
    assert searched.find("kind:hit") == (hits, hits) and hits > 0
    assert searched.find("module:encode") == (0, 0)


def test_a_click_on_a_module_finds_it_and_what_is_in_it(searched):
    panel = tab(searched.page, "modules")
    panel.get_by_role("button", name=re.compile(r"^encoder( |$)")).click()
    until(searched.page, "() => document.querySelector('.search input').value === 'model:Net module:encoder'")
    calls = sum(layer["calls"] for layer in searched.report["layers"] if in_encoder(layer))
    casts = searched.casts(in_encoder)
    assert searched.find("model:Net module:encoder")[1] == casts > 0
    assert searched.find("model:Net module:encoder kind:cast,hit")[0] == casts
    assert searched.find("model:Net module:encoder kind:operator")[0] == calls > 0


def test_fields_and_their_values_are_suggested(searched):
    page, box, options = searched.page, searched.box, searched.options
    page.keyboard.press("/")
    options.get_by_text("cause:", exact=True).wait_for()
    assert box.get_attribute("aria-expanded") == "true"
    page.keyboard.type("ca")
    until(page, "() => document.querySelectorAll('#search-list li').length === 2")
    assert options.all_inner_texts()[0].startswith("cause:")
    page.keyboard.press("Tab")
    assert box.input_value() == "cause:"
    told = options.filter(has_text="user_to")
    told.wait_for()
    assert "explicit to()" in told.inner_text()
    count = int(re.search(r"[\d,]+$", told.inner_text())[0].replace(",", ""))
    assert count == searched.casts(has(cause="user_to"))
    page.keyboard.type("explicit")  # the name that the page prints leads there, too
    until(page, "() => document.querySelectorAll('#search-list li').length === 1")
    page.keyboard.press("ArrowDown")
    chosen = page.locator(f"#{box.get_attribute('aria-activedescendant')}")
    assert chosen.get_attribute("aria-selected") == "true"
    page.keyboard.press("Enter")
    assert box.input_value() == "cause:user_to "
    until(page, f"() => document.querySelector('.search output').textContent === '{count}'")
    page.keyboard.press("Escape")
    until(page, "() => document.querySelector('.search-popup').hidden")
    assert box.input_value() == "cause:user_to " and box.get_attribute("aria-expanded") == "false"
    page.keyboard.press("Escape")
    assert box.input_value() == ""


def test_every_value_is_counted_as_its_search_finds_it(view, castscope, python):
    """Of a job with marks, regions and modules, and with two spellings of one operator."""
    have(castscope, python, JOB, "run", "--deep", "always")
    viewer = view("run.castscope")
    viewer.loaded()
    counted = 0
    for field in viewer.json("runs/run/fields")["search_fields"]:
        name = field["search_field"]
        for one in viewer.json(f"runs/run/fields?search_field={name}")["field_values"]:
            search = urllib.parse.quote(f'{name}:"{one["field_value"]}"')
            assert viewer.json(f"runs/run/find?find={search}")["event_count"] == one["event_count"], one
            counted += 1
    assert counted > 100


def test_modules_are_found_as_a_kind(searched):
    modules = searched.find("kind:module")[0]
    assert modules > 0
    searched.page.keyboard.press("Enter")
    searched.page.get_by_role("tabpanel").get_by_text("Net", exact=True).first.wait_for()
    assert searched.find("kind:module,operator")[0] == modules + searched.find("kind:operator")[0]


def test_the_focus_goes_from_the_box_to_the_timeline(searched):
    page = searched.page
    page.keyboard.press("/")
    searched.options.get_by_text("cause:", exact=True).wait_for()
    page.keyboard.press("Tab")
    until(page, "() => document.activeElement.getAttribute('aria-label') === 'Colour by'")
    searched.find("role:weight")
    page.keyboard.press("Enter")
    until(page, "() => document.activeElement.className === 'lanes'")


def test_a_value_is_taken_with_the_mouse_and_quoted(searched):
    searched.box.fill("region:")
    searched.options.filter(has_text="autocast cpu bfloat16").click()
    assert searched.box.input_value() == 'region:"autocast cpu bfloat16" '
    until(searched.page, "() => /^[\\d,]+$/.test(document.querySelector('.search output').textContent)")


def test_a_search_that_is_none_says_why(searched):
    page = searched.page
    searched.box.fill("layer:3")
    page.get_by_text("there is no field layer, which stands at character 1; the fields are cause, role").wait_for()
    assert searched.box.get_attribute("aria-invalid") == "true"
    until(page, "() => document.querySelector('.search output').textContent === '?'")
    searched.box.fill('cause:autocast "linear')
    page.get_by_text("the quotation mark at character 16 has no second one").wait_for()
    searched.box.fill("cause:autocast linear")
    until(page, "() => /^[\\d,]+$/.test(document.querySelector('.search output').textContent)")
    assert page.get_by_text("no second one").count() == 0


def test_a_link_with_a_search_that_is_none_shows_the_run(look, searched):
    for only in ("", "&only=1"):
        page = look(f"{searched.page.url.split('#')[0]}#find=layer%3A3{only}")
        until(page, "() => document.querySelector('.search output').textContent === '?'")
        until(page, "() => document.querySelector('.header .state').textContent.includes('finished')")
        assert "no field layer" in page.locator(".search output").get_attribute("title")
        assert page.get_by_text("does not answer").count() == 0


def drawn(page):
    """How many pixels of the lanes have a colour."""
    return page.evaluate("""() => {
        const canvas = document.querySelector('canvas.lanes');
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let any = 0;
        for (let i = 0; i < data.length; i += 4) {
            const [most, least] = [Math.max, Math.min].map((of) => of(data[i], data[i + 1], data[i + 2]));
            if (most - least > 12) any += 1;
        }
        return any;
    }""")


def test_what_is_not_found_is_hidden(look, searched):
    page = searched.page
    only = page.get_by_role("button", name="only")
    assert not only.is_visible()
    searched.find("cause:promotion")
    until(page, "() => /find=/.test(location.hash)")
    page.wait_for_function("() => document.querySelector('canvas.lanes').width > 0")
    legend = page.get_by_role("toolbar", name=re.compile("Legend"))
    legend.get_by_role("button", name=re.compile(r"operator\s*[1-9]")).wait_for()
    dimmed = drawn(page)
    searched.box.press("Control+Enter")
    until(page, "() => /only=1/.test(location.hash)")
    assert only.get_attribute("aria-pressed") == "true"
    # The counts beside the colours are those of what is left.
    legend.get_by_role("button", name=re.compile(r"operator\s*[1-9]")).wait_for(state="detached")
    alone = drawn(page)
    assert 0 < alone < dimmed / 2
    events, casts = searched.find("cause:promotion")
    up = re.search(r"cast up\s+(\d+)", legend.inner_text())
    assert int(up[1]) == events == casts
    until(page, "() => /only=1/.test(location.hash)")
    again = look(page.url)
    until(again, "() => document.querySelector('.search .only').getAttribute('aria-pressed') === 'true'")
    until(again, "() => document.querySelector('.search output').textContent !== ''")
    assert again.get_by_role("combobox", name="Search events").input_value() == "cause:promotion"
    again.get_by_role("button", name="only").click()
    until(again, "() => !/only=/.test(location.hash)")


def test_the_sums_of_a_selection_are_of_what_is_not_hidden(searched):
    page = searched.page
    events, _ = searched.find("cause:user_to kind:cast")
    searched.box.press("Control+Enter")
    searched.box.press("Enter")
    page.keyboard.press("e")
    panel = tab(page, "selection")
    table = panel.get_by_role("table", name="By kind")
    table.wait_for()
    until(page, "events => [...document.querySelectorAll('table.kinds td.number:nth-child(2)')]"
                ".reduce((sum, cell) => sum + Number(cell.textContent.replace(/,/g, '')), 0) === events", events)


def test_esc_lets_go_of_a_step_that_was_typed(searched):
    page = searched.page
    searched.box.fill("step 2")
    until(page, "() => document.querySelector('.search output').textContent === '↵'")
    page.keyboard.press("Escape")
    until(page, "() => document.querySelector('.search output').textContent === ''")
    assert searched.box.input_value() == ""
