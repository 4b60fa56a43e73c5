"""docs/openapi.json is what a second client of the viewer is written from: every answer, good or bad, is as it says."""

import gzip
import json
import urllib.parse

import jsonschema
import pytest
from program import ROOT
from viewer import Viewer

DOCUMENT = json.loads((ROOT / "docs/openapi.json").read_text())
SAFE = 2**53  # beyond it, JavaScript reads another number


def resolved(part):
    while "$ref" in part:
        target = DOCUMENT
        for name in part["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        part = target
    return part


def closed(schema):
    """The schema with nothing allowed that it does not name, but where it names nothing."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "allOf" in schema:  # of objects, which together are one
        parts = [resolved(part) for part in schema["allOf"]]
        schema = {"type": "object", "properties": {k: v for part in parts for k, v in part["properties"].items()},
                  "required": [name for part in parts for name in part["required"]]}
    schema = {key: closed(value) for key, value in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        schema.setdefault("additionalProperties", False)
    return schema


CLOSED = closed(DOCUMENT)


def fits(schema, value):
    validator = jsonschema.Draft202012Validator(
        {**schema, "components": CLOSED["components"]}, format_checker=jsonschema.FormatChecker())
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)] == []


def check(response, body, operation):
    """An answer has a status, headers and a body that the operation names."""
    told = resolved(operation["responses"][str(response.status)])
    for name, header in told.get("headers", {}).items():
        value = response.getheader(name)
        if value is not None:
            schema = resolved(header)["schema"]
            fits(schema, int(value) if schema.get("type") == "integer" else value)
    if "content" not in told:
        assert body == b""
        return
    kind = response.getheader("Content-Type").split(";")[0]
    assert kind in told["content"], (kind, response.status)
    schema = told["content"][kind].get("schema")
    if schema is not None and kind.endswith("json"):
        fits(closed(schema), json.loads(body))


def questions(viewer, run):
    """A request for every operation, by its path: (path, query)."""
    end = run["events_end_ns"] + 1
    casts = next(track["track"] for track in run["tracks"] if track["track_kind"] == "casts")
    first = viewer.json(f"runs/run/neighbour?track={casts}&at_ns=-1&direction=next")["event"]["begin_ns"]
    file = viewer.json("runs/run/source")["source_files"][0]["file"]
    forms = DOCUMENT["paths"]["/runs/{run}/report"]["get"]["parameters"][1]["schema"]["enum"]
    asked = {
        "/rules": [{}], "/runs": [{}, {"limit": 1}, {"with_counts": 1}], "/runs/{run}/changes": [{}],
        "/runs/{run}/metrics": [{}], "/runs/{run}": [{}], "/runs/{run}/definitions": [{}, {"known_sites": 1}],
        "/runs/{run}/picture": [{"window_begin_ns": 0, "window_end_ns": end, "columns": 50}],
        "/runs/{run}/event": [{"track": casts, "at_ns": first}, {"track": casts, "at_ns": -5}],
        "/runs/{run}/neighbour": [{"track": casts, "at_ns": -1, "direction": "next"},
                                  {"at_ns": end, "direction": "next"}],
        "/runs/{run}/find": [{"find": "linear"}, {"find": "nothing of that name"}],
        "/check_search": [{"find": "op:mm"}, {"find": "layer:3"}],
        "/runs/{run}/fields": [{}, {"search_field": "cause"}, {"search_field": "op", "part_of_value": "lin"}],
        "/runs/{run}/summary": [{"window_begin_ns": 0, "window_end_ns": end}],
        "/runs/{run}/durations": [{"window_begin_ns": begin, "window_end_ns": end} for begin in (0, end - 1)],
        "/runs/{run}/findings": [{}, {"limit": 1}],
        "/runs/{run}/sites": [{}, {"limit": 1}], "/runs/{run}/modules": [{}],
        "/runs/{run}/source": [{}, {"file": file}], "/runs/{run}/stacks": [{}], "/runs/{run}/steps": [{}],
        "/runs/{run}/behaviours": [{}],
        "/runs/{run}/compare": [{"with_run": "other"}], "/runs/{run}/report": [{"format": form} for form in forms],
        "/runs/{run}/query": [{"sql": "SELECT * FROM v_sites, v_run"}, {"sql": "SELECT 1 WHERE 0", "time_limit_ms": 9}],
    }
    assert set(asked) == set(DOCUMENT["paths"]), "a route that is not asked for"
    return [(path, query) for path, queries in asked.items() for query in queries]


def address(path, query):
    return "api/v2" + path.replace("{run}", "run") + "?" + urllib.parse.urlencode(query)


def integers(value, place="$"):
    if isinstance(value, dict):
        for key, one in value.items():
            yield from integers(one, f"{place}.{key}")
    elif isinstance(value, list):
        for i, one in enumerate(value):
            yield from integers(one, f"{place}[{i}]")
    elif isinstance(value, int) and not isinstance(value, bool):
        yield place, value


@pytest.fixture
def two_runs(castscope, view, recorded):
    (castscope.folder / "other.castscope").write_bytes((castscope.folder / "run.castscope").read_bytes())
    viewer = view("run.castscope", "other.castscope")
    viewer.loaded("other")
    return viewer, viewer.loaded()


def test_every_answer_is_as_documented_and_safe_to_read(two_runs):
    viewer, run = two_runs
    for path, query in questions(viewer, run):
        response, body = viewer.ask(address(path, query))
        assert response.status == 200, (path, query, body)
        check(response, body, DOCUMENT["paths"][path]["get"])
        if response.getheader("Content-Type").split(";")[0].endswith("/json"):
            beyond = [(place, number) for place, number in integers(json.loads(body)) if abs(number) > SAFE]
            assert beyond == [], (path, query)


def test_what_it_calls_required_is_refused_when_missing(two_runs):
    viewer, _ = two_runs
    for path, item in DOCUMENT["paths"].items():
        for parameter in map(resolved, item["get"]["parameters"]):
            if parameter["in"] == "query" and parameter["required"]:
                response, body = viewer.ask(address(path, {}))
                assert (response.status, json.loads(body)["status"]) == (400, 400), path
                check(response, body, item["get"])


def test_numbers_end_where_it_says(two_runs):
    viewer, run = two_runs
    good = {path: query for path, query in reversed(questions(viewer, run))}
    for path, item in DOCUMENT["paths"].items():
        for parameter in map(resolved, item["get"]["parameters"]):
            schema = parameter["schema"]
            for bound, beyond in ((schema.get("minimum"), -1), (schema.get("maximum"), 1)):
                if bound is None or parameter["in"] != "query":
                    continue
                response, body = viewer.ask(address(path, good[path] | {parameter["name"]: bound + beyond}))
                assert response.status == 400, (path, parameter["name"], bound + beyond)
                assert json.loads(body)["parameter"] == parameter["name"]
                check(response, body, item["get"])


def test_errors_are_alike_and_closed_to_others(two_runs):
    viewer, _ = two_runs
    get = DOCUMENT["paths"]["/runs/{run}"]["get"]
    refused = [(404, viewer.ask("api/v2/runs/none")), (404, viewer.ask("api/v2/runs/run/none")),
               (404, viewer.ask("api/v3/runs")), (404, viewer.ask("nothing")),
               (404, viewer.ask(base="/t/x/api/v2/runs")),
               (401, viewer.ask(base="/api/v2/runs")), (400, viewer.ask("api/v2/runs/run?x=1")),
               (405, viewer.ask("api/v2/runs", method="POST")), (405, viewer.ask("api/v2/runs", method="OPTIONS")),
               (421, viewer.ask("api/v2/runs", headers={"Host": "example.com"})),
               (431, viewer.ask("api/v2/runs", headers={"X": "a" * 33_000}))]
    for status, (response, body) in refused:
        assert response.status == status
        check(response, body, get)
        assert json.loads(body)["status"] == status
        assert response.getheader("X-Content-Type-Options") == "nosniff", status
        assert response.getheader("Referrer-Policy") == "no-referrer", status
        assert "frame-ancestors 'none'" in response.getheader("Content-Security-Policy"), status
    assert next(r for s, (r, _) in refused if s == 405).getheader("Allow") == "GET, HEAD"


def test_the_token_in_the_header(two_runs):
    viewer, _ = two_runs
    token = viewer.base.strip("/").split("/")[1]
    with_header = Viewer(f"http://127.0.0.1:{viewer.port}/")
    response, body = with_header.ask("api/v2/runs", headers={"Authorization": f"Bearer {token}"})
    assert response.status == 200 and json.loads(body) == viewer.json("runs")
    for wrong in (f"Bearer {token[:-1]}", f"Basic {token}", token, f"Bearer {token}x"):
        response, body = with_header.ask("api/v2/runs", headers={"Authorization": wrong})
        assert (response.status, response.getheader("WWW-Authenticate")) == (401, 'Bearer realm="castscope"')


def test_what_a_client_has_is_not_sent_again(two_runs):
    viewer, run = two_runs
    for path, query in questions(viewer, run):
        operation = DOCUMENT["paths"][path]["get"]
        response, _ = viewer.ask(address(path, query))
        tag = response.getheader("ETag")
        assert (tag is not None) == ("304" in operation["responses"]), path
        if tag is None:
            continue
        again, body = viewer.ask(address(path, query), headers={"If-None-Match": tag})
        assert (again.status, body, again.getheader("ETag")) == (304, b"", tag), path
        assert viewer.ask(address(path, query), headers={"If-None-Match": '"other"'})[0].status == 200


def test_long_texts_come_in_gzip_and_pictures_do_not(two_runs):
    viewer, run = two_runs
    for path, query in questions(viewer, run):
        (plain, body), (packed, data) = (viewer.ask(address(path, query), headers={"Accept-Encoding": taken})
                                         for taken in ("identity", "gzip"))
        is_packed = packed.getheader("Content-Encoding") == "gzip"
        is_text = plain.getheader("Content-Type") != "application/octet-stream"
        assert is_packed == (is_text and len(body) >= 1024), (path, query)
        assert plain.getheader("Content-Encoding") is None
        if is_packed:
            assert gzip.decompress(data) == body and len(data) < len(body) and packed.getheader("Vary")


def test_a_list_in_parts_is_the_list(two_runs):
    viewer, _ = two_runs
    for route, name in (("runs", "runs"), ("runs/run/findings", "findings"), ("runs/run/sites", "sites")):
        whole, parts, path = viewer.json(route), [], f"{route}?limit=1"
        while path is not None:
            response, body = viewer.ask("api/v2/" + path)
            told = json.loads(body)
            parts += told[name]
            assert len(told[name]) == 1 and told["total"] == whole["total"] == len(whole[name])
            path = told["next"] and urllib.parse.urljoin(route, told["next"])
            assert response.getheader("Link") == (told["next"] and f'<{told["next"]}>; rel="next"')
        assert parts == whole[name] and len(parts) >= (1 if name == "findings" else 2), route
