#!/usr/bin/env python3
"""Holds every surface of castscope against the one table of names, docs/names.json.

    scripts/check_names.py [RUN.castscope]

Fails on a name that stands in a surface and not in the table, on a name of the table that stands nowhere, on two names
with one meaning, on a closed list of a schema that has a word which the table does not have, on flags that are not
those of the agent, and on a property of a schema without a description. With a run file its own tables are read in
place of the sources.
"""

import collections
import json
import pathlib
import re
import sys

import name_surfaces
from name_surfaces import ROOT

TABLE = ROOT / "docs" / "names.json"
FLAGS = ROOT / "agent" / "lanes" / "definition_records.h"
KEYS = ("name", "meaning", "unit", "null", "values")


def table_of(entries):
    """The table by name. Says what is wrong with its own form."""
    wrong, table, meanings = [], {}, collections.defaultdict(list)
    for entry in entries:
        name = entry.get("name", "")
        if not all(entry.get(key) for key in KEYS[:3]) or set(entry) - set(KEYS):
            wrong.append(f"{name or entry}: an entry has name, meaning and unit; null and values where they apply")
        if name in table:
            wrong.append(f"{name} stands there twice")
        table[name] = entry
        meanings[entry.get("meaning")].append(name)
    wrong += [f"one meaning for {' and '.join(names)}" for names in meanings.values() if len(names) > 1]
    return table, wrong


def complaints_about_names(names, table):
    for name in names:
        if name.name not in table:
            yield f"{name.surface}: {name.where}: {name.name} is not in {TABLE.name}"
    for name in sorted(set(table) - {name.name for name in names}):
        yield f"{name} is in {TABLE.name} and stands nowhere"


def complaints_about_properties(properties, table):
    """A closed list has no word beyond the table's, and each property says what it is."""
    for name, node in properties:
        place = f"{name.surface}: {name.where}.{name.name}"
        known = table.get(name.name, {}).get("values", ())
        beyond = [str(word) for word in node.get("enum", ()) if word is not None and str(word) not in known]
        if beyond:
            yield f"{place} may be {', '.join(beyond)}, which {TABLE.name} does not have"
        if "description" not in node and "$ref" not in node:
            yield f"{place} has no description"


def complaints_about_bits(table, header):
    """The values of flags begin with the numbers that the C++ header has."""
    bits = collections.defaultdict(set)
    for prefix, number in re.findall(r"constexpr std::uint\d+_t k([A-Z][a-z]+)\w+ = (\d+);", header):
        bits[f"{prefix.lower()}_flags"].add(int(number))
    for name, entry in table.items():
        if entry["unit"] != "bits" or not name.endswith("_flags"):
            continue
        told = {int(value.split(" ", 1)[0]) for value in entry.get("values", ())}
        if told != bits[name]:
            yield f"{name} has the bits {sorted(told)}, and the header {sorted(bits[name])}"


def main():
    table, wrong = table_of(json.loads(TABLE.read_text()))
    names, properties = name_surfaces.all_names(*sys.argv[1:]), list(name_surfaces.properties())
    wrong += complaints_about_names(names, table)
    wrong += complaints_about_properties(properties, table)
    wrong += complaints_about_bits(table, FLAGS.read_text())
    for complaint in wrong:
        print(complaint, file=sys.stderr)
    print(f"{len(table)} names, {len(properties)} properties of schemas")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    sys.exit(main())
