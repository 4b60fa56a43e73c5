"""castscope schema: who has only the program has the schemas."""

import json

import pytest
from program import ROOT

FILES = {"openapi": "docs/openapi.json", "policy": "policies/policy.schema.json", "report": "docs/report.schema.json",
         "settings": "docs/castscope.schema.json"}
NAMES = sorted(FILES) + sorted(path.name.removesuffix(".schema.json") for path in ROOT.glob("docs/*.schema.json")
                               if f"docs/{path.name}" not in FILES.values())


def listed(castscope):
    return [line.split()[0] for line in castscope("schema", text=True).stdout.splitlines()]


def test_every_schema_of_the_documents_is_listed(castscope):
    assert listed(castscope) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_printed_as_it_is_in_the_documents(castscope, name):
    printed = castscope("schema", name).stdout
    assert printed == (ROOT / FILES.get(name, f"docs/{name}.schema.json")).read_bytes()
    assert json.loads(printed)


def test_a_schema_that_does_not_exist(castscope):
    told = castscope("schema", "reprot", text=True)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr == ('castscope: there is no schema "reprot"; did you mean "report"? `castscope schema` lists '
                           "all\n")
