#!/usr/bin/env python3
"""Holds every surface of castscope against the one table of names, docs/names.json.

    scripts/check_names.py [RUN.castscope]

Fails on a name that stands in a surface and not in the table, on a name of the table that stands nowhere, and on a
closed list of a schema that has a word which the table does not have. The renames that are not carried out yet stand
in docs/decisions/names.md, under "## NOT_YET": they let the old name pass, and are counted. A row whose old name is
gone and whose new one is not there is a mistake. With a run file its own tables are read in place of the sources.
"""

import collections
import json
import pathlib
import re
import sys

import name_surfaces
from name_surfaces import ROOT

TABLE = ROOT / "docs" / "names.json"
DECISIONS = ROOT / "docs" / "decisions" / "names.md"
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$")
NOTHING = "–"  # in place of a name: it is new, or it goes
KEYS = ("name", "meaning", "unit", "null", "values")

Rename = collections.namedtuple("Rename", "surface where old new")


def table_of(entries):
    """The table by name. Says what is wrong with its own form."""
    wrong, table = [], {}
    for entry in entries:
        name = entry.get("name", "")
        if not all(entry.get(key) for key in KEYS[:3]) or set(entry) - set(KEYS):
            wrong.append(f"{name or entry}: an entry has name, meaning and unit; null and values where they apply")
        if name in table:
            wrong.append(f"{name} stands there twice")
        table[name] = entry
    meanings = collections.defaultdict(list)
    for entry in entries:
        meanings[entry.get("meaning")].append(entry.get("name"))
    wrong += [f"one meaning for {' and '.join(names)}" for names in meanings.values() if len(names) > 1]
    return table, wrong


def renames_of(text):
    """The rows of NOT_YET, one for each place."""
    listed = text.partition("\n## NOT_YET\n")[2]
    rows = [row.groups() for row in map(ROW.match, listed.splitlines()) if row and row[1] not in ("surface", "---")]
    return [Rename(surface, where.strip(), old.strip("`"), new.strip("`"))
            for surface, places, old, news in rows for where in places.split("; ") for new in news.split(", ")]


def is_located(surface, where=""):
    """Whether the name is known by its place, and not just by the source that writes it: "[].text (panels.cc)"."""
    return surface not in name_surfaces.JSON_SOURCES and surface not in ("chrome", "perfetto") and " (" not in where


class Standing:
    """What stands in the surfaces today."""

    def __init__(self, names):
        self.names = set(names)
        self.surfaces = {(name.surface, name.name) for name in names}

    def has(self, surface, where, name):
        if is_located(surface, where):
            return name_surfaces.Name(surface, where, name) in self.names
        return (surface, name) in self.surfaces

    def remains(self, rename, table):
        if rename.old == NOTHING:
            return not self.has(rename.surface, rename.where, rename.new)
        if not self.has(rename.surface, rename.where, rename.old):
            return False
        # In a source the old name may stand for another thing, too, which keeps it.
        known_by_place = is_located(rename.surface, rename.where) or rename.new == NOTHING or rename.old not in table
        return known_by_place or not self.has(rename.surface, rename.where, rename.new)

    def is_stale(self, rename):
        """Neither the old name nor the new one is there."""
        if rename.new == NOTHING or self.has(rename.surface, rename.where, rename.old):
            return False
        return rename.old != NOTHING and (rename.surface, rename.new) not in self.surfaces


def complaints_about_names(standing, remaining, table):
    renamed = collections.defaultdict(set)
    for rename in remaining:
        where = rename.where if is_located(rename.surface, rename.where) else "*"
        renamed[rename.surface, where, rename.old].add(rename.new)
    used = {rename.new for rename in remaining}
    for name in sorted(standing.names):
        news = renamed[name.surface, name.where, name.name] | renamed[name.surface, "*", name.name]
        if name.name in table and not (news and is_located(name.surface)):
            used.add(name.name)
        elif not news:
            yield f"{name.surface}: {name.where}: {name.name} is not in {TABLE.name}"
    for new in sorted(used - set(table) - {NOTHING}):
        yield f"{new} is a new name in {DECISIONS.name} and not in {TABLE.name}"
    for name in sorted(set(table) - used):
        yield f"{name} is in {TABLE.name} and stands nowhere"


def complaints_about_words(lists, remaining, table):
    """A closed list of a schema has no word beyond the table's."""
    news = {(rename.surface, rename.where, rename.old): rename.new for rename in remaining}
    for name, words in sorted(lists.items()):
        entry = table.get(news.get(tuple(name), name.name), {})
        beyond = [word for word in words if word is not None and str(word) not in entry.get("values", ())]
        if beyond:
            place = f"{name.surface}: {name.where}.{name.name}"
            yield f"{place} may be {', '.join(map(str, beyond))}, which {TABLE.name} does not have"


def main():
    table, wrong = table_of(json.loads(TABLE.read_text()))
    renames = renames_of(DECISIONS.read_text())
    standing = Standing(name_surfaces.all_names(*sys.argv[1:]))
    remaining = [rename for rename in renames if standing.remains(rename, table)]
    wrong += [f"{DECISIONS.name}: {' | '.join(rename)}: neither the old name nor the new one is there"
              for rename in renames if standing.is_stale(rename)]
    wrong += complaints_about_names(standing, remaining, table)
    properties = dict(name_surfaces.properties())
    lists = {name: node["enum"] for name, node in properties.items() if "enum" in node}
    wrong += complaints_about_words(lists, remaining, table)
    for complaint in wrong:
        print(complaint, file=sys.stderr)
    without = sum("description" not in node and "$ref" not in node for node in properties.values())
    print(f"{len(table)} names; {len(remaining)} of {len(renames)} renames remain; {without} of {len(properties)} "
          "properties of schemas have no description", file=sys.stderr if wrong else sys.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    sys.exit(main())
