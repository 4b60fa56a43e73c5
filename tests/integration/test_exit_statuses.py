"""What the commands end with: the table in docs/exit-statuses.md, in each --help, and in fact."""

import re
import sys

import pytest
from program import ROOT, Castscope

POLICY = ["check", "explain", "diff", "from-run", "list"]
COMMANDS = ["run", "attach", "detach", "deep", "report", "check", "diff", "compare", "rules", "explain",
            *(f"policy {one}" for one in POLICY), "recover", "view", "serve", "token", "schema", "env",
            "notebook install", "doctor", "version"]
HIDDEN = {"convert": "report"}  # an old name, and whose statuses it has
USAGE = {"run": 125}


def rows_of_help(text):
    """The statuses and what they mean, from a --help; a meaning may take several lines."""
    rows = []
    for line in text[text.index("Exit status:\n"):].splitlines()[1:]:
        begin = re.match(r"  (\d+|the job's)  +(\S.*)", line)
        if begin:
            rows.append([begin[1], begin[2]])
        elif line.strip():
            rows[-1][1] += " " + line.strip()
    return rows


def rows_of_page():
    page = (ROOT / "docs/exit-statuses.md").read_text()
    sections = re.split(r"^### castscope ", page, flags=re.MULTILINE)[1:]
    return {section.split("\n", 1)[0]: [list(row) for row in re.findall(r"^\| (\d+|the job's) \| (.*) \|$", section,
                                                                          re.MULTILINE)] for section in sections}


@pytest.fixture(scope="module")
def page():
    return rows_of_page()


def test_the_page_has_every_command(castscope, page):
    def commands(*group):
        listed = castscope(*group, "--help", text=True).stdout.split("Commands:")[1].split("\n\n")[0]
        return [" ".join([*group, name]) for name in re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE)]

    groups = {"policy", "notebook"}
    assert {*commands(), *commands("policy"), *commands("notebook")} - groups == set(page) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_and_the_help_say_the_same(castscope, page, command):
    rows = rows_of_help(castscope(*command.split(), "--help", text=True).stdout)
    assert rows and rows == page[command]
    assert {status for status, _ in rows} <= {"0", "1", "2", "3"} or command == "run"


@pytest.mark.parametrize("old, new", HIDDEN.items())
def test_an_old_name_has_the_statuses_of_the_new_one(castscope, page, old, new):
    assert rows_of_help(castscope(old, "--help", text=True).stdout) == page[new]


@pytest.mark.parametrize("command", [*COMMANDS, *HIDDEN, "relay", "build-agent", "counts"])
def test_an_unknown_option_is_wrong_usage_everywhere(castscope, command):
    done = castscope(*command.split(), "--bogus", "x", text=True)
    assert (done.returncode, done.stdout) == (USAGE.get(command, 2), "")
    assert done.stderr == f"castscope: there is no option --bogus: `castscope {command} --help` tells more\n"


@pytest.mark.parametrize("words", [[], ["bogus"], ["--bogus"], ["policy"], ["policy", "bogus"], ["version", "x"],
                                   ["policy", "list", "x"], ["doctor", "--json=yes"], ["rules", "no-such-rule"],
                                   ["schema", "no-such-schema"], ["recover", "--discard"], ["recover", "-o", "x"],
                                   ["recover", "--list", "--discard"], ["serve", "--listen", "nonsense"],
                                   ["env", "--", "no-such-program"], ["compare"],
                                   ["compare", "--", sys.executable, "gone.py"], ["report"], ["check"], ["diff", "a"],
                                   ["view"], ["convert"], ["policy", "from-run"], ["policy", "check", "no-such-policy"],
                                   ["report", "-f=html", "x"], ["report", "--config", "gone.json", "x"]])
def test_wrong_usage_is_2(castscope, words):
    done = castscope(*words, text=True)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1, done


@pytest.mark.parametrize("options", [["--collector", "foo"], ["--collector", "foo:99999"], ["--live=abc"],
                                     ["--live=65536"], ["-o=NAME"], ["--gpu", "maybe"], ["--deep", "0"],
                                     ["--config", "gone.json"], ["--policy", "gone.json"], ["--enforce", "gone.json"]])
def test_wrong_usage_of_run_starts_no_job(castscope, options):
    done = castscope("run", *options, "--", "touch", "started", text=True)
    assert done.returncode == 125 and done.stderr.count("\n") == 1, done
    assert not any(castscope.folder.iterdir())


UNREADABLE = {
    "report": ["report", "{}"], "summary": ["report", "--summary", "{}"], "convert": ["convert", "{}"],
    "check": ["check", "{}"], "baseline": ["check", "--baseline", "{}", "run.castscope"],
    "diff": ["diff", "{}", "run.castscope"], "diff B": ["diff", "run.castscope", "{}"], "view": ["view", "{}"],
    "from-run": ["policy", "from-run", "{}"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run file, and files that are none."""
    castscope = Castscope(tmp_path_factory.mktemp("unreadable"))
    castscope.run("true")
    content = (castscope.folder / "run.castscope").read_bytes()
    (castscope.folder / "cut.castscope").write_bytes(content[:5000])
    (castscope.folder / "half.castscope").write_bytes(content[:len(content) // 2])
    (castscope.folder / "empty.castscope").write_bytes(b"")
    (castscope.folder / "text.castscope").write_bytes(b"hello\n")
    return castscope.folder


# Of half a run file, `view` shows what can be read, until somebody ends it: test_viewer_api.py.
@pytest.mark.parametrize("command, name", [(command, name) for command in UNREADABLE
                                           for name in ("gone", "cut", "half", "empty", "text")
                                           if (command, name) != ("view", "half")])
def test_what_cannot_be_read_is_3(folder, command, name):
    words = [word.format(f"{name}.castscope") for word in UNREADABLE[command]]
    told = Castscope(folder)(*words, text=True, timeout=300)
    assert told.returncode == 3, told
    if name == "gone":
        assert told.stderr.removeprefix("castscope: ").removeprefix("the baseline: ") == (
            "gone.castscope cannot be read: No such file or directory\n")


@pytest.mark.parametrize("words", [["policy", "check", "gone.json"], ["policy", "explain", "gone.json", "linear"],
                                   ["policy", "diff", "torch-cpu", "gone.json"], ["check", "gone.pt2"]])
def test_what_is_not_there_is_told_in_the_same_words(castscope, words):
    told = castscope(*words, text=True)
    name = next(word for word in words if word.startswith("gone"))
    assert (told.returncode, told.stdout) == (3, "")
    assert told.stderr == f"castscope: {name} cannot be read: No such file or directory\n"


def test_settings_that_are_not_there_are_told_in_the_same_words(folder):
    told = Castscope(folder)("check", "--config", "gone.json", "run.castscope", text=True)
    assert (told.returncode, told.stderr) == (2, "castscope: gone.json cannot be read: No such file or directory\n")


@pytest.mark.parametrize("words", [["report"], ["report", "--summary"], ["view"], ["policy", "from-run"]])
def test_a_report_in_place_of_a_run_file_is_told_as_such(folder, words):
    told = Castscope(folder)(*words, "run.json", text=True, timeout=300)
    assert told.returncode == 3 and told.stderr.startswith("castscope: run.json is a report, not a run file: give ")
    assert "`castscope check` and `castscope diff`" in told.stderr


def test_the_run_file_that_may_be_meant_is_named(castscope):
    """Beside a report, beside a name without its suffix, in a folder; and none where there is none."""
    (castscope.folder / "runs").mkdir()
    for name in ("run.castscope", "runs/first.castscope"):
        (castscope.folder / name).write_bytes(b"some run")
    (castscope.folder / "run.json").write_text('{"format": 2, "run": {}, "totals": {}}')
    (castscope.folder / "other.json").write_text("[1]")
    (castscope.folder / "run.txt").write_text("text")
    for given, told in (("run.json", "run.json is a report, not a run file: give run.castscope; of a report, "),
                        ("run", "run cannot be read: No such file or directory; give run.castscope\n"),
                        ("run.txt", "run.txt: this is not a castscope run file; give run.castscope\n"),
                        ("runs", "runs: this is a folder, not a run file; give runs/first.castscope\n"),
                        ("other.json", "other.json: this is not a castscope run file; give the run file that "
                                       "`castscope run` wrote (NAME.castscope)\n"),
                        ("gone", "gone cannot be read: No such file or directory\n")):
        done = castscope("report", given, text=True)
        assert done.returncode == 3 and done.stderr.startswith(f"castscope: {told}")


def test_a_cut_file_is_told_alike_by_view_and_report(folder):
    told = [Castscope(folder)(command, "cut.castscope", timeout=300) for command in ("view", "report")]
    assert told[0].stderr == told[1].stderr and b"is cut short: 5000 of" in told[0].stderr


def test_a_run_directory_that_is_not_there(castscope):
    told = castscope("recover", "/nowhere/run-1-2-3", text=True)
    assert told.returncode == 3 and "/nowhere/run-1-2-3 is not a run directory" in told.stderr


def test_env_tells_of_a_program_that_is_no_python(castscope):
    told = castscope("env", "--", "/bin/ls", text=True)
    assert told.returncode == 0 and "/bin/ls is not a Python: the agent is made for " in told.stderr
