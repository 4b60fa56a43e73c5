"""Reads every name that stands in a surface of castscope, with the surface and the place in it.

A surface is what others build on: the JSON report and the JSON of the commands, the run file (SQL), the CSV forms, the
viewer's API, the wire (proto), the events as JSON lines and in timelines, the evidence of findings, the options of the
command line. check_names.py holds what is read here against docs/names.json.
"""

import json
import pathlib
import re
import sqlite3
from collections import namedtuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
Name = namedtuple("Name", "surface where name")

# JSON that has no schema yet is read off the source that writes it.
JSON_SOURCES = {
    "jsonl": ["server/report/timelines/json_lines.cc"],
    "comparison table": ["agent/python/castscope/modes/as_table.py"],
}
# Names in the JSON of another's format are that format's; ours are what stands in its bags of properties.
CHROME = {"name", "cat", "ph", "pid", "tid", "ts", "dur", "s", "args", "displayTimeUnit", "traceEvents"}
# Problem details of HTTP (RFC 9457) likewise.
PROBLEM = {"type", "title", "status", "detail", "instance"}
# Keys of maps from the words of a closed list.
WORDS_AS_KEYS = {"eager"}
SQL_LIST = "names.list"  # the words that stand in the column `list` of the table `names`
KEY = re.compile(r'\{+\s*"([A-Za-z_]\w*)"\s*[,:]|\[\s*"([A-Za-z_]\w*)"\s*\]\s*=(?!=)')
PYTHON_KEY = re.compile(r'"([A-Za-z_]\w*)": ')


def text_of(path):
    return (ROOT / path).read_text()


def walk_schema(surface, node, where=""):
    """Yields the properties of a schema, and the parameters of an API, wherever they stand in it: name and schema."""
    if isinstance(node, list):
        for one in node:
            yield from walk_schema(surface, one, where)
    if not isinstance(node, dict):
        return
    if node.get("in") == "query":
        yield Name(surface, where, "?" + node["name"]), node
    for key, value in node.items():
        if key == "properties" and isinstance(value, dict):
            for name, inner in value.items():
                yield Name(surface, where or "(top)", name), inner
                yield from walk_schema(surface, inner, f"{where}.{name}" if where else name)
        elif key in ("$defs", "schemas", "paths") and isinstance(value, dict):
            for name, inner in value.items():
                yield from walk_schema(surface, inner, f"{where}{name}")
        elif key in ("items", "additionalProperties"):
            yield from walk_schema(surface, value, where + ("[]" if key == "items" else "{}"))
        elif key not in ("example", "examples", "enum"):
            yield from walk_schema(surface, value, where)


def properties():
    """Files of settings, of tokens and of policies are languages that users write, with a schema of their own."""
    for path in sorted((ROOT / "docs").glob("*.schema.json")):
        if path.name not in ("castscope.schema.json", "serve.schema.json", "tokens.schema.json"):
            yield from walk_schema(path.name.removesuffix(".schema.json"), json.loads(path.read_text()))
    for name, node in walk_schema("api", json.loads(text_of("docs/openapi.json"))):
        if name.where != "Problem" or name.name not in PROBLEM:
            yield name, node


def schemas():
    return (name for name, _ in properties())


def hidden_in_api():
    """What the API's answers have and openapi.json does not describe."""
    told = {name.name for name in schemas() if name.surface == "api"}
    for path in sorted((ROOT / "server/web/api").glob("*.cc")):
        if path.name.endswith("_test.cc"):
            continue
        text = re.sub(r"routes\.push_back\(.*?\);", "", path.read_text(), flags=re.DOTALL)  # lists of parameters
        for found in KEY.finditer(text):
            name = next(filter(None, found.groups()))
            if name not in told:
                yield Name("api", path.name, name)


def json_sources():
    for surface, paths in JSON_SOURCES.items():
        for path in paths:
            pattern = PYTHON_KEY if path.endswith(".py") else KEY
            text = re.sub(r"\bconstexpr [^;]*;", "", text_of(path))  # lists of words
            for found in pattern.finditer(text):
                name = next(filter(None, found.groups()))
                if name not in WORDS_AS_KEYS:
                    yield Name(surface, pathlib.Path(path).name, name)


def timelines():
    chrome = text_of("server/report/timelines/chrome_trace.cc")
    for found in re.finditer(r'args\["(\w+)"\]|\\"(\w+)\\":|args = \{\{"(\w+)"|, \{"(\w+)", region', chrome):
        name = next(filter(None, found.groups()))
        if name not in CHROME:
            yield Name("chrome", "args", name)
    listed = re.search(r"kAnnotationNames\[\] = \{(.*?)\};", text_of("server/report/timelines/perfetto.cc"), re.DOTALL)
    for name in filter(None, re.findall(r'"([^"]*)"', listed[1])):
        yield Name("perfetto", "annotations", name)
    bag = re.search(r"\nJson properties_of\(.*?\n\}", text_of("server/report/forms/sarif_results.cc"), re.DOTALL)[0]
    for found in KEY.finditer(bag):
        if (name := next(filter(None, found.groups()))) != "tags":
            yield Name("sarif", "properties", name)


def csv_forms():
    for surface, path in (("csv", "server/report/forms/csv.cc"), ("csv-layers", "server/report/forms/layers_csv.cc")):
        header = re.search(r'add_csv_line\(\s*text,\s+\{(".*?)\}\);', text_of(path), re.DOTALL)
        for name in re.findall(r'"(\w+)"', header[1]):
            yield Name(surface, "header", name)


def schema_of_run_file():
    """The tables and views that the program makes, in a database of their own."""
    database = sqlite3.connect(":memory:")
    gauges = re.findall(r"^  GAUGE\((\w+),", text_of("agent/lanes/gauges.h"), re.MULTILINE)
    gauges = "".join(f", {name} INTEGER" for name in gauges)
    rows = text_of("server/store/run/deep_data.h") + text_of("server/store/run/gpu_data.h")
    definition = re.compile(r"^  DEFINITION\((\w+), (\w+), (\w+), (\w+)\)", re.MULTILINE)
    listed = definition.findall(text_of("server/store/run/row_definitions.h"))
    for kind, table, counts, word in listed:
        body = re.search(rf"\nstruct {kind} \{{.*?\n\}};", rows, re.DOTALL)[0]
        columns = ", ".join(re.findall(r'column\("(\w+)"', body))
        times = re.search(r'kTimes = "(\w+)";', body)[1]
        database.execute(f"CREATE TABLE {table} (id, {columns})")
        database.execute(f"CREATE TABLE {counts} (id, process, lane, {word}, {times})")
    for path in ("schema", "deep_schema", "gpu_schema"):
        text = re.sub(r'\)sql" CASTSCOPE_GAUGES\(\s*CASTSCOPE_COLUMN_OF_GAUGE\) R"sql\(', lambda _: gauges,
                      text_of(f"server/store/file/{path}.cc"))
        for script in re.findall(r'R"sql\((.*?)\)sql"', text, re.DOTALL):
            database.executescript(script)
    return database


def sql(run_file=None):
    database = sqlite3.connect(f"file:{run_file}?mode=ro", uri=True) if run_file else schema_of_run_file()
    kinds = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"
    for (table,) in database.execute(kinds).fetchall():
        yield Name("sql", "tables", table.removeprefix("v_"))
        for _, column, *_ in database.execute(f'PRAGMA table_info("{table}")'):
            yield Name("sql", table, column)
    writer = text_of("server/store/write/run_keys.cc") + text_of("server/store/write/run_store.cc")
    for name in re.findall(r'\bset\("(\w+)"|\bstd::pair\("(\w+)", &start\.', writer):
        yield Name("sql", "run.name", next(filter(None, name)))
    for name in re.findall(r'\{+"(\w+)", \w+_names\(\)\}', text_of("server/store/write/new_file.cc")):
        yield Name("sql", SQL_LIST, name)


def attributes():
    """What a process says of itself: rows of the table `attributes`, and `Attribute` on the wire."""
    for path in sorted((ROOT / "agent").rglob("*.cc")):
        if not path.name.endswith("_test.cc"):
            text = path.read_text()
            for name in re.findall(r'\battribute\("(\w+)", |set_attribute\("(\w+)"|Attribute\[?\]? = "(\w+)"', text):
                yield Name("attributes", str(path.relative_to(ROOT)), next(filter(None, name)))
    text = text_of("agent/start/process_description.cc")
    for name in re.findall(r'std::pair\{"?\w+"?, "(\w+)"\}', text):
        yield Name("attributes", "agent/start/process_description.cc", name)


def proto():
    text = re.sub(r"//.*", "", text_of("proto/castscope/v1/castscope.proto"))
    for message, body in re.findall(r"^message (\w+) \{\n(.*?)^\}", text, re.DOTALL | re.M):
        for name in re.findall(r"^\s+(?:optional |repeated )?[\w.]+ (\w+) = \d+;", body, re.M):
            yield Name("proto", message, name)


def evidence():
    paths = [*(ROOT / "server" / "rules").rglob("*.cc"), ROOT / "server/exported/findings.cc"]
    for path in sorted(path for path in paths if not path.name.endswith("_test.cc")):
        text, where = path.read_text(), path.stem
        statements = re.findall(r"evidence_(?:number|text)\b[^;]*;", text)
        statements += re.findall(r"\nNumbers product_numbers\(.*?\n\}", text, re.DOTALL)
        for statement in statements:
            for name in re.findall(r'(?:\{\s*|emplace_back\()"([A-Za-z_]\w*)"', statement):
                yield Name("evidence", where, name)


def options():
    for path in sorted((ROOT / "server" / "cli").rglob("*.cc")):
        if not path.name.endswith("_test.cc"):
            for names in re.findall(r'\.(?:option|flag|flag_with_value)\(\s*"(-[^"]*)"', path.read_text()):
                yield Name("options", path.stem, re.search(r"--[a-z0-9-]+", names)[0])


def all_names(run_file=None):
    found = set()
    for part in (schemas(), hidden_in_api(), json_sources(), timelines(), csv_forms(), sql(run_file),
                 attributes(), proto(), evidence(), options()):
        found.update(part)
    return sorted(found)
