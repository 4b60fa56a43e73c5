"""castscope.json, and the commands that describe rules."""

import json

import jsonschema
import pytest
from gated import RULE, TRAIN, record
from program import ROOT

SCHEMA = json.loads((ROOT / "docs" / "castscope.schema.json").read_text())
GOOD = [{}, {"ignore": [RULE]}, {"select": ["cache-*", RULE]}, {"severity": {RULE: "error"}},
        {"thresholds": {"cache-grows": {"entries": 32}}}, {"per-path-ignores": {"tests/*": ["*"]}},
        {"$schema": "docs/castscope.schema.json"}]
BAD = [[], {"ignores": []}, {"ignore": RULE}, {"ignore": [1]}, {"ignore": ["Cache Grows"]}, {"severity": {RULE: "bad"}},
       {"severity": []}, {"thresholds": {"cache-grows": 3}}, {"thresholds": {"cache-grows": {"entries": -1}}},
       {"per-path-ignores": {"": []}}]


@pytest.mark.parametrize("settings", GOOD + BAD)
def test_schema_and_program_agree(castscope, python, settings):
    castscope.run("true")
    (castscope.folder / "castscope.json").write_text(json.dumps(settings))
    valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(settings)
    assert valid == (settings in GOOD)
    done = castscope("check", "--allow-incomplete", "run.castscope")
    assert done.returncode == (0 if valid else 2), done.stderr
    assert valid or b"castscope.json:1:" in done.stderr


def test_settings_beside_the_job_count_and_are_told(castscope, python):
    (castscope.folder / "castscope.json").write_text('{"ignore": ["weight-*"]}  // not here\n')
    done = record(castscope, python)
    assert castscope.report()["findings"] == [] and castscope.report()["ignored"]["by_settings"] == 1
    assert b"1 finding ignored by castscope.json" in done.stderr and b"performance" not in done.stderr
    (castscope.folder / "castscope.json").write_text(json.dumps({"severity": {RULE: "error"}}))
    check = castscope("check", "--fail-on", "error", "run.castscope")
    assert check.returncode == 1 and b"1 finding of severity error" in check.stdout


def test_config_names_another_file(castscope, python):
    (castscope.folder / "other.json").write_text(json.dumps({"severity": {RULE: "error"}}))
    record(castscope, python, TRAIN, "run", "--config", "other.json")
    assert castscope.report()["findings"][0]["severity"] == "error"
    assert castscope("check", "--config", "gone.json", "run.castscope").returncode == 2


def test_paths_count_from_the_settings_folder_however_it_is_named(castscope, python):
    (castscope.folder / "of").mkdir()
    (castscope.folder / "here.json").write_text('{"per-path-ignores": {"tr*.py": ["*"]}}')
    record(castscope, python)
    for name in ("here.json", "./here.json", "of/../here.json", str(castscope.folder / "here.json")):
        done = castscope("check", "--fail-on", "info", "--config", name, "run.castscope")
        assert done.returncode == 0 and b"1 finding ignored by" in done.stdout, name


def test_settings_in_files(castscope, python):
    (castscope.folder / "castscope.json").write_text('{"per-path-ignores": {"tr*.py": ["weight-*"]}}')
    record(castscope, python)
    assert castscope.report()["ignored"]["by_settings"] == 1


def test_wrong_settings_keep_no_job_from_running_unless_they_were_asked_for(castscope, python):
    (castscope.folder / "castscope.json").write_text('{"ignore": ["cache-grow"]}')
    done = castscope.run(python, "-c", "print('ran')")
    assert done.stdout == b"ran\n" and b'did you mean "cache-grows"?' in done.stderr
    done = castscope("run", "--config", "castscope.json", "-o", "again", "--", python, "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (125, b"")


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_settings_that_cannot_be_read_are_told(castscope, python, kind):
    record(castscope, python)
    name = castscope.folder / "castscope.json"
    name.mkdir() if kind == "folder" else name.symlink_to("gone.json")
    for command in (["check", "run.castscope"], ["diff", "run.castscope", "run.json"], ["report", "run.castscope"]):
        done = castscope(*command)
        assert done.returncode == 2 and b"castscope.json: " in done.stderr and done.stderr.count(b"\n") == 1, command
    done = castscope.run("true", output="again")
    assert done.returncode == 0 and b"the rules' defaults count instead" in done.stderr


def test_explain(castscope):
    text = castscope("explain", "cache-grows").stdout.decode()
    for part in ("What happens", "Why it matters", "Example", "Fix", "entries = 16", "https://"):
        assert part in text
    assert json.loads(castscope("explain", "-f", "json", "cache-grows").stdout)["rules"][0]["severity"] == "warning"
    unknown = castscope("explain", "cache-grow")
    assert unknown.returncode == 2 and b'did you mean "cache-grows"?' in unknown.stderr


def test_rules(castscope):
    listed = json.loads(castscope("rules", "-f", "json").stdout)["rules"]
    names = [rule["rule"] for rule in listed]
    assert names == sorted(names) and RULE in names
    assert json.loads(castscope("rules", "-f", "json", names[0]).stdout)["rules"] == [listed[0]]
    assert all(name in castscope("rules").stdout.decode() for name in names)


def test_the_examples_of_rules_run(castscope, python):
    """Those that end well by themselves: an example that shows an error says so."""
    for rule in json.loads(castscope("rules", "-f", "json").stdout)["rules"]:
        compile(rule["example"], rule["rule"], "exec")
        compile(rule["fixed_example"] or "", rule["rule"], "exec")
