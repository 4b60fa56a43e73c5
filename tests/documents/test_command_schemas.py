"""The schemas of the commands' JSON say of each property what docs/names.json does, and close its closed lists."""

import json
import sys

import pytest
from blocks import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import name_surfaces

NAMES = ["check", "compare", "counts", "diff", "doctor", "policy-check", "policy-diff", "policy-explain", "policy-list",
         "rules"]
TABLE = {entry["name"]: entry for entry in json.loads((ROOT / "docs/names.json").read_text())}


def schema_of(name):
    return json.loads((ROOT / f"docs/{name}.schema.json").read_text())


def may_be_null(node):
    return "null" in node.get("type", ()) or None in node.get("enum", ()) or {"type": "null"} in node.get("anyOf", ())


@pytest.mark.parametrize("name", NAMES)
def test_every_property_is_described_as_in_the_table(name):
    for place, node in name_surfaces.walk_schema(name, schema_of(name)):
        entry, said = TABLE[place.name], node["description"].lower()
        assert said.startswith(entry["meaning"].lower()), place
        assert entry["unit"].lower() in said, place
        assert not may_be_null(node) or entry.get("null", "").lower() in said, place


@pytest.mark.parametrize("name", NAMES)
def test_closed_lists_are_closed(name):
    for place, node in name_surfaces.walk_schema(name, schema_of(name)):
        text = json.dumps(node)
        if "values" in TABLE[place.name]:
            assert '"enum"' in text or "const" in node, place
        if TABLE[place.name]["unit"] == "dtype" and place.name != "computed_in":
            assert '"#/$defs/dtype"' in text, place


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_named_as_its_document_and_its_format(name):
    schema = schema_of(name)
    assert schema["properties"]["document"]["const"] == name
    assert schema["$id"] == f"urn:castscope:schema:{name}:{schema['properties']['format']['const']}"
    assert schema["required"][:3] == ["document", "format", "format_minor"]
