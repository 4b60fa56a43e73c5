"""The reports of a run: each in the form that its readers expect, all of them from the same numbers."""

import base64
import csv
import hashlib
import html.parser
import io
import json
import os
import re
import sys

import jsonschema
import pytest
from program import ROOT, Castscope
from report_job import FORMS, TRAIN, get, get_json, line_of, record


def errors(schema, value):
    schema = json.loads((ROOT / schema).read_text())
    validator = jsonschema.validators.validator_for(schema)(schema)
    return [error.message for error in validator.iter_errors(value)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return record(Castscope(tmp_path_factory.mktemp("trained")), sys.executable)


@pytest.fixture(scope="module")
def report(trained):
    return get_json(trained, "json")


# --- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_the_same_run_gives_the_same_bytes(trained, form):
    assert get(trained, form) == get(trained, form) != b""


def test_json_is_valid_and_has_the_finding(trained, report):
    assert errors("docs/report.schema.json", report) == []
    assert (trained.folder / "run.json").read_bytes() == get(trained, "json")
    found = {(finding["rule"], finding["location"]["line"]) for finding in report["findings"]}
    assert found & {("weight-cast-repeatedly", line_of(which)) for which in ("FINDING", "ANOTHER")}


def test_source_lines_are_those_that_ran(trained, report):
    ours = next(file for file in report["source_files"] if file["file"].endswith("/train.py"))
    assert ours["source_state"] == "kept" and len(ours["source_lines"]) >= 7
    text = TRAIN.splitlines()
    assert all(line["source_text"] == text[line["line"] - 1] for line in ours["source_lines"])
    for finding in report["findings"]:
        assert any(line["line"] == finding["location"]["line"] for line in ours["source_lines"])


# --- SARIF ------------------------------------------------------------------------------------------------------------


def test_sarif_is_valid_and_points_at_the_line(trained, report):
    log = get_json(trained, "sarif")
    assert errors("tests/schemas/sarif-2.1.0.json", log) == []
    (run,) = log["runs"]
    assert len(run["results"]) == len(report["findings"]) > 0
    rules = run["tool"]["driver"]["rules"]
    for result, finding in zip(run["results"], report["findings"], strict=True):
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "train.py", "uriBaseId": "%SRCROOT%"}
        assert place["region"]["startLine"] == finding["location"]["line"]
        assert place["region"]["snippet"]["text"] == TRAIN.splitlines()[finding["location"]["line"] - 1]
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == finding["rule"]
        assert result["partialFingerprints"] == {"castscope/v1": finding["fingerprint"]}
        assert result["level"] == {"error": "error", "warning": "warning", "performance": "warning", "info": "note"}[
            finding["severity"]]
    assert run["invocations"][0]["exitCode"] == 0 and run["invocations"][0]["executionSuccessful"] is True
    assert all(len(rule["properties"]["tags"]) <= 10 and rule["help"]["markdown"] for rule in rules)


def test_an_edit_above_makes_no_new_fingerprint(castscope, python, trained):
    record(castscope, python, "# one more line\n\n" + TRAIN)

    def fingerprints(which):
        return {one["partialFingerprints"]["castscope/v1"] for one in get_json(which, "sarif")["runs"][0]["results"]}

    assert fingerprints(castscope) == fingerprints(trained)
    assert get_json(castscope, "json")["findings"][0]["location"]["line"] != \
        get_json(trained, "json")["findings"][0]["location"]["line"]


# --- the page ---------------------------------------------------------------------------------------------------------

VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}


class Page(html.parser.HTMLParser):
    """Checks that elements are closed in order; keeps tags, attributes, text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.text, self.marked, self.style = [], [], "", [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open and self.open[-1][0] == "style":
            self.style += data
            return
        self.text += data
        if any(attrs.get("class") == "hit" for _, attrs in self.open):
            self.marked.append(data)


def test_the_page_is_whole_and_asks_nobody(trained, report):
    page = Page(get(trained, "html").decode())
    tags = {tag for tag, _ in page.seen}
    assert not tags & {"script", "link", "img", "iframe", "object", "form"}
    assert all(not set(attrs) & {"src", "style", "onclick", "action"} for _, attrs in page.seen)
    assert all(attrs.get("href", "#").startswith("#") for _, attrs in page.seen)  # where to: test_graph.py
    assert "url(" not in page.style and "@import" not in page.style
    policy = next(attrs["content"] for tag, attrs in page.seen if attrs.get("http-equiv") == "Content-Security-Policy")
    digest = "sha256-" + base64.b64encode(hashlib.sha256(page.style.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ") and f"style-src '{digest}'" in policy, digest
    for finding in report["findings"]:
        assert finding["title"] in page.text and finding["fix"] in page.text


def test_the_page_marks_the_line(trained, report):
    page = Page(get(trained, "html").decode())
    lines = [str(finding["location"]["line"]) for finding in report["findings"]]
    assert lines == [text for text in page.marked if text.isdigit()]
    assert any("FINDING" in text or "ANOTHER" in text for text in page.marked)


def test_the_page_has_charts_of_steps(trained):
    page = Page(get(trained, "html").decode())
    spoken = [attrs["aria-label"] for tag, attrs in page.seen if tag == "svg" and "aria-label" in attrs]
    assert any(text.startswith("Casts per step") for text in spoken)
    assert any(text.startswith("Cache bytes per step") for text in spoken)


def test_names_stay_text_everywhere(castscope, python):
    record(castscope, python, name="<script>alert('x')</script>|`@you` =1+1.py".replace("/", "_"))
    page = Page(get(castscope, "html").decode())
    assert "script" not in {tag for tag, _ in page.seen} and "<script>alert('x')" in page.text
    outside_code = re.sub(rb"(`+)(?!`).*?(?<!`)\1(?!`)", b"", get(castscope, "md"))
    assert b"<script>" not in outside_code and b"@you" not in outside_code
    rows = csv.DictReader(io.StringIO(get(castscope, "csv").decode()))
    assert any(row["file"].startswith("<script>") for row in rows)
    found = get_json(castscope, "sarif")["runs"][0]["results"][0]
    uri = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("%3Cscript%3E") and " " not in uri


# --- Markdown, CSV ----------------------------------------------------------------------------------------------------


def test_markdown_has_a_row_for_each_finding(trained, report):
    text = get(trained, "md").decode()
    assert text.startswith("### castscope: ") and len(text) < 65_536
    for finding in report["findings"]:
        assert f"| {finding['severity']} | `{finding['rule']}` | `train.py:{finding['location']['line']}` |" in text
    assert text.count("<details>") == text.count("</details>") == len(report["findings"]) + 2


def test_csv_has_the_sites_of_the_json(trained, report):
    raw = get(trained, "csv")
    assert raw.count(b"\r\n") == len(report["sites"]) + 1
    rows = list(csv.DictReader(io.StringIO(raw.decode())))
    sites = {site["site"]: site for site in report["sites"]}
    for row in rows:
        site = sites[int(row["site"])]
        assert [int(row[key]) for key in ("site", "casts", "cache_hits", "bytes", "cpu_ns", "first_cpu_ns")] == \
            [site[key] for key in ("site", "casts", "cache_hits", "bytes", "cpu_ns", "first_cpu_ns")]
        assert row["operator"] == (site["operator"] or "") and row["file"] == "train.py"


# --- traces -----------------------------------------------------------------------------------------------------------


def casts_in(report):
    assert report["totals"]["events_lost"] == 0
    return sum(site["casts"] for site in report["sites"])


def test_chrome_trace_has_every_cast_and_nests(trained, report):
    events = get_json(trained, "chrome")["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) == casts_in(report)
    depth = {}
    for event in events:
        key = event["pid"], event["tid"]
        depth[key] = depth.get(key, 0) + {"B": 1, "E": -1}.get(event["ph"], 0)
        assert depth[key] >= 0
    assert set(depth.values()) == {0}
    names = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert any("lane 1" in name for name in names) and any("pid" in name for name in names)
    assert {event["args"]["line"] for event in events if event["ph"] == "X"} >= {line_of("FINDING")}


def test_perfetto_trace_is_read_by_perfettos_own_definitions(trained, report):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

    trace = perfetto.Trace.FromString(get(trained, "perfetto"))
    interned = next(packet.interned_data for packet in trace.packet if packet.HasField("interned_data"))
    names = {name.iid: name.name for name in interned.event_names}
    assert len(names) == len(interned.event_names)
    lines = {place.iid: place.line_number for place in interned.source_locations}
    tracks = {packet.track_descriptor.uuid: packet.track_descriptor for packet in trace.packet
              if packet.HasField("track_descriptor")}
    kinds = perfetto.TrackEvent.Type
    casts, depth, last, counted = 0, {}, {}, 0
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        assert event.track_uuid in tracks and packet.timestamp >= last.get(event.track_uuid, 0)
        last[event.track_uuid] = packet.timestamp
        if event.type == kinds.TYPE_COUNTER:
            counted += 1
            continue
        if event.type != kinds.TYPE_SLICE_END:
            assert event.name_iid in names
        change = {kinds.TYPE_SLICE_BEGIN: 1, kinds.TYPE_SLICE_END: -1}.get(event.type, 0)
        depth[event.track_uuid] = depth.get(event.track_uuid, 0) + change
        assert depth[event.track_uuid] >= 0
        if change == 1 and names[event.name_iid].startswith("cast "):
            casts += 1
            assert lines[event.source_location_iid] > 0
    assert casts == casts_in(report) and set(depth.values()) == {0}
    assert counted == 2 * sum(run["cache_clears"] for run in report["step_runs"])
    assert sum("lane" in track.thread.thread_name for track in tracks.values()) >= 2


def test_speedscope_is_valid_and_nests(trained, report):
    file = get_json(trained, "speedscope")
    assert errors("tests/schemas/speedscope.json", file) == []
    by_stack, *lanes = file["profiles"]
    assert sum(by_stack["weights"]) == by_stack["endValue"] == sum(site["cpu_ns"] for site in report["sites"])
    assert len(by_stack["samples"]) == len(by_stack["weights"])
    frames = file["shared"]["frames"]
    opened = 0
    for lane in lanes:
        stack, last = [], lane["startValue"]
        for event in lane["events"]:
            assert last <= event["at"] <= lane["endValue"]
            last = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
                opened += frames[event["frame"]]["name"].startswith("cast ")
            else:
                assert stack.pop() == event["frame"]
        assert stack == []
    assert opened == casts_in(report)


# --- what is in the way -----------------------------------------------------------------------------------------------


def test_a_source_that_was_changed_meanwhile_is_told_and_not_shown(castscope, python):
    record(castscope, python, TRAIN + "open(__file__, 'a').write('# changed\\n')\n")
    (ours,) = [file for file in get_json(castscope, "json")["source_files"] if file["file"].endswith("train.py")]
    assert ours["source_state"] == "changed" and ours["source_lines"] == []
    page = Page(get(castscope, "html").decode())
    assert "was changed after the run began" in page.text and page.marked == []
    assert errors("tests/schemas/sarif-2.1.0.json", get_json(castscope, "sarif")) == []


def test_a_source_that_vanished_is_told(castscope, python):
    record(castscope, python, TRAIN + "import os; os.unlink(__file__)\n")
    (ours,) = [file for file in get_json(castscope, "json")["source_files"] if file["file"].endswith("train.py")]
    assert ours["source_state"] == "gone"


def test_sources_that_are_no_text_are_not_read(castscope, python):
    made = {"pipe.py": os.mkfifo, "endless.py": lambda to: os.symlink("/dev/zero", to),
            "nul.py": lambda to: to.write_bytes(bytes(100)), "big.py": lambda to: to.write_text("#" * 3_000_000)}
    for name, make in made.items():
        make(castscope.folder / name)  # before the run begins
    # PyTorch, imported from there, would read the source itself, to format a stack.
    code = f"import sys, torch\nfor n in sys.argv[1:]: exec(compile({TRAIN!r}, n, 'exec'), {{'__name__': '__main__'}})"
    assert castscope.run(python, "-c", code, *(castscope.folder / name for name in made)).returncode == 0
    odd = [file for file in get_json(castscope, "json")["source_files"] if os.path.basename(file["file"]) in made]
    assert {(os.path.basename(file["file"]), file["source_state"], *file["source_lines"]) for file in odd} == {
        ("pipe.py", "not_text"), ("endless.py", "not_text"), ("nul.py", "not_text"), ("big.py", "too_large")}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("damage, sentence", [
    (lambda path: path.write_bytes(path.read_bytes()[:5000]), "cut short"),
    (lambda path: path.write_bytes(b"hello"), "not a castscope run file"),
    (lambda path: path.write_bytes(path.read_bytes()[:60] + b"\0\0\0\x63" + path.read_bytes()[64:]), "newer castscope"),
    (lambda path: path.unlink(), "No such file"),
])
def test_what_is_no_run_file_is_one_sentence(castscope, trained, form, damage, sentence):
    path = castscope.folder / "bad.castscope"
    path.write_bytes((trained.folder / "run.castscope").read_bytes())
    damage(path)
    done = castscope("report", "-f", form, "-o", "out", path)
    assert done.returncode == 3 and done.stdout == b"" and not (castscope.folder / "out").exists()
    assert done.stderr.count(b"\n") == 1 and sentence.encode() in done.stderr
    assert list(castscope.folder.iterdir()) == ([path] if path.exists() else [])


def test_files_are_called_from_the_checkout_on_wherever_it_lies_and_the_job_starts(castscope, python):
    prints, uris = set(), set()
    for checkout, start in (("mine", "jobs"), ("of/the/ci", "."), ("of/the/ci", "src")):
        folder = castscope.folder / checkout
        for name in (".git", "src", "jobs"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "src/model.py").write_text(TRAIN)
        done = castscope.run(python, folder / "src/model.py", output=castscope.folder / "run", cwd=folder / start)
        assert done.returncode == 0, done.stderr
        told = json.loads((castscope.folder / "run.json").read_text())
        assert told["run"]["checkout"] == str(folder) and told["run"]["cwd"] == str((folder / start).resolve())
        prints.add(tuple(finding["fingerprint"] for finding in told["findings"]))
        for result in get_json(castscope, "sarif")["runs"][0]["results"]:
            uris.add(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        for name in ("run.json", "run.castscope"):
            (castscope.folder / name).unlink()
    assert len(prints) == 1 and uris == {"src/model.py"}


def test_a_file_has_one_name_from_wherever_the_job_starts(castscope, python):
    for name in (".git", "lib", "sub/deep"):
        (castscope.folder / name).mkdir(parents=True)
    (castscope.folder / "lib/model.py").write_text(TRAIN)
    prints, uris = set(), set()
    for start, path in (("sub", "sub/../lib"), ("sub/deep", "sub/deep/../../lib"), (".", "lib/.")):
        job = castscope.folder / "job.py"
        job.write_text(f"import sys; sys.path.insert(0, {str(castscope.folder / path)!r}); import model")
        done = castscope.run(python, job, output=castscope.folder / "run", cwd=castscope.folder / start)
        assert done.returncode == 0, done.stderr
        results = get_json(castscope, "sarif")["runs"][0]["results"]
        prints.add(tuple(result["partialFingerprints"]["castscope/v1"] for result in results))
        uris |= {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results}
        (castscope.folder / "castscope.json").write_text('{"per-path-ignores": {"lib/*": ["*"]}}')
        done = castscope("report", "run.castscope")
        assert json.loads(done.stdout)["findings"] == [] and json.loads(done.stdout)["ignored"]["by_settings"] > 0
        for name in ("run.json", "run.castscope", "castscope.json"):
            (castscope.folder / name).unlink()
    assert len(prints) == 1 and uris == {"lib/model.py"}


def test_names_that_are_no_utf8_stay_names(castscope, python):
    name = os.fsdecode(b"caf\xe9.py")
    text = TRAIN.replace("train(Net(), 3)", "forward = Net.forward\n"
                         "forward.__code__ = forward.__code__.replace(co_qualname='f\\udce9', co_name='f\\udce9')\n"
                         "odd = torch.nn.Sequential()\nodd.add_module('m\\udce9', Net())\ntrain(odd, 3)")
    record(castscope, python, text, name=name)
    report = get_json(castscope, "json")
    assert report["sites"] and all(site["location"]["file"].endswith(r"/caf\udce9.py") for site in report["sites"])
    assert r"f\udce9" in {site["location"]["function"] for site in report["sites"]}
    assert r"m\udce9.frozen" in {site["module"] for site in report["sites"]}
    for result in get_json(castscope, "sarif")["runs"][0]["results"]:
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "caf%E9.py"
    assert {file["source_state"] for file in report["source_files"] if "caf" in file["file"]} == {"kept"}


def test_a_job_that_failed_says_so_first(castscope, python):
    (castscope.folder / "train.py").write_text(TRAIN + "sys.exit(3)\n")
    done = castscope.run(python, "train.py")
    sentence = b"The job ended with exit status 3."
    assert done.returncode == 3 and sentence in done.stderr
    assert sentence in castscope("report", "--summary", "run.castscope").stderr
    assert b"the" + sentence[3:-1] in get(castscope, "md").splitlines()[0]
    assert sentence in get(castscope, "html")


@pytest.mark.parametrize("form", FORMS)
def test_what_is_left_of_a_file_that_was_cut_short_is_reported(castscope, trained, form):
    whole = (trained.folder / "run.castscope").read_bytes()
    (castscope.folder / "cut.castscope").write_bytes(whole[:len(whole) * 19 // 20])
    done = castscope("report", "-f", form, "-o", "out", "cut.castscope")
    assert done.returncode == 3 and done.stdout == b"" and done.stderr.count(b"\n") == 1
    sentence = f"cut short: {len(whole) * 19 // 20} of {len(whole)} bytes are there"
    assert b"cut.castscope: the run file is " + sentence.encode() in done.stderr
    assert (castscope.folder / "out").stat().st_size > 0
    if form == "json":
        told = json.loads((castscope.folder / "out").read_text())
        assert sentence in told["run"]["damage"] and told["run"]["notices"][0] == told["run"]["damage"]
        assert not told["run"]["complete"] and told["processes"]
        assert errors("docs/report.schema.json", told) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_run_that_cast_nothing_has_every_report(castscope, form):
    castscope.run("true")
    assert get(castscope, form)
    schemas = {"sarif": "sarif-2.1.0", "speedscope": "speedscope"}
    assert form not in schemas or errors(f"tests/schemas/{schemas[form]}.json", get_json(castscope, form)) == []
