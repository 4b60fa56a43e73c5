"""The contents of a run file, as text that two recordings of the same job share: no times, addresses, process numbers.

Definitions are numbered in the order in which they come up, which is not the same in each recording. Views name them
by what they are, so their rows are compared without the numbers, sorted.
"""

import collections
import re
import sqlite3

from same_answers import ask

# Columns of views that do not count: numbers of definitions, the process, and times.
NUMBERS = {"site", "stack", "operator_use", "flow", "fact", "kernel", "matmul", "region", "parent", "process", "pid",
           "parent_pid", "behaviour"}
TIMES = re.compile("(^|_)(ns|ns_at_most)$")
TOLD_OF_TIMES = {"evidence", "savings"}
# Those of the run itself.
OF_ONE_RUN = {"start_epoch_ns", "end_epoch_ns", "run_id", "checksum", "checksum_shown", "checksum_events", "cwd"}
IN_EVENTS = re.compile(rb',"(\w*_ns|pid|source_address|site|operator_use|region)":("[^"]*"|-?\d+)')
# castscope unpacks what it carries into a folder that is named after all of the agent's sources.
UNPACKED = re.compile(rb"(?<=/castscope/)[0-9a-f]{16}\b")
LANE = re.compile(rb'"pid":(\d+),"lane":(\d+)')


def opened(path):
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def rows(database, name, without):
    """A line a row, less the columns of which `without` says so."""
    told = database.execute(f'SELECT * FROM "{name}"')
    columns = [i for i, column in enumerate(told.description) if not without(column[0])]
    return [repr(tuple(row[i] for i in columns)) for row in told]


def of_kind(database, kind):
    return [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = ? ORDER BY 1", (kind,))]


def text(lines):
    return UNPACKED.sub(b"_", "\n".join(lines).encode("utf-8", "backslashreplace"))


def views_of(path):
    with opened(path) as database:
        found = {f"view {name}": sorted(rows(database, name, lambda column: column in NUMBERS | TOLD_OF_TIMES or
                                             TIMES.search(column))) for name in of_kind(database, "view")}
        found["view v_run"] = [line for line in found["view v_run"] if line.split("'")[1] not in OF_ONE_RUN]
        return {name: text(lines) for name, lines in found.items()}


def tables_of(path):
    """Numbers are included: this is for files that were made from the same segments. events_of() reads packed
    events."""
    with opened(path) as database:
        schema = database.execute("SELECT name, type, sql FROM sqlite_master ORDER BY 1").fetchall()
        found = {f"table {name}": text(rows(database, name, lambda column: column == "packed_events" or
                                            TIMES.search(column)))
                 for name in of_kind(database, "table")}
        run = found["table run"].split(b"\n")
        found["table run"] = b"\n".join(line for line in run if line.split(b"'")[1].decode() not in OF_ONE_RUN)
        return {"schema": text(map(repr, schema))} | found


def events_of(program, path):
    """Lane by lane, in the order in which they were written; lanes and processes by their content."""
    told = ask(program.castscope, ["convert", path], path.parent)
    if told.status != 0:
        return {"events": told.stderr}
    lanes = collections.defaultdict(list)
    for line in told.stdout.splitlines():
        lane = LANE.search(line)
        lanes[lane.groups() if lane else ()].append(IN_EVENTS.sub(b"", UNPACKED.sub(b"_", line)))
    return {"events": b"\n\n".join(sorted(b"\n".join(lines) for lines in lanes.values()))}


def contents_of(program, path):
    return views_of(path) | events_of(program, path)
