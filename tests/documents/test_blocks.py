"""Every code block of README.md and docs/ does what its page says: it is run as it stands.

python   runs; a test runs under pytest; scripts of STORIES are run by the commands of their page
sh       runs in a folder with train.py and the run files that it names, and ends with 0
text     is what the block before it prints, if it follows one; else it is in PICTURES
json     is read, and fits the schema that it names in "$schema"; so is jsonc
sql      runs on a run file
diff     is made in a program of a page that has a test of its own (OWN_TESTS)
yaml     is read; the commands of castscope in it exist, with their options
"""

import json
import pathlib
import re
import shlex
import subprocess

import jsonschema
import pytest
import yaml
from blocks import FENCE, PAGES, ROOT, all_blocks, blocks_of, is_printed, without_comments

HERE = pathlib.Path(__file__).resolve().parent
# Blocks that are not run, with the reason. Their form is checked all the same: each command of castscope exists, with
# its options.
GPU = "needs a GPU"
EXCEPTIONS = {
    "README.md: scripts/demo    # installs what is missing, builds, trains a": "installs packages and builds castscope",
    "docs/gpu.md: castscope run -- python train.py               # kernels are": GPU,
    'docs/serve.md: sqlite3 runs/train.castscope ".backup backup/train.castscope':
        "needs sqlite3's program; tests/integration/test_serve_settings.py makes the same backup by Python's",
}
# Text that no command of its page prints.
PICTURES = {
    "docs/architecture.md: training process (python train.py)          same host": "a drawing",
    "docs/gpu.md: GPU: 12.3 ms in 5 timed steps, 18 % of it casts (top: model.": GPU,
    "docs/lanes.md: 0        SegmentHeader            magic, version, sizes, pid": "a drawing",
    "docs/lanes.md: process 4711 end 1 exit 0 steps 0 cache peak 2048 bytes 1 en":
        "a dump that is shortened and explained line by line; agent/lanes has the test of lanes_dump",
}
# Pages whose blocks build on each other, in a folder of their own; each is one test. Blocks of Python that are scripts
# have their names, those that have none are run.
STORIES = {"docs/first-finding.md": ["train.py"], "docs/wrong-loss.md": ["model.py", "train.py"],
           "docs/package.md": [None, None, None, "model.py"]}
# Pages whose blocks a test of their own runs; here their form is checked.
OWN_TESTS = {"docs/launchers.md": "tests/launchers/recipes.py", "docs/audit.md": "tests/audit/test_audit.py",
             "docs/gallery.md": "tests/documents/test_gallery.py", "docs/attach.md": "tests/integration/test_attach.py"}
SCHEMAS = {"castscope.schema.json": "docs/castscope.schema.json", "policy.schema.json": "policies/policy.schema.json",
           "report.schema.json": "docs/report.schema.json", "serve.schema.json": "docs/serve.schema.json",
           "tokens.schema.json": "docs/tokens.schema.json"}
LANGUAGES = {"python", "sh", "text", "diff", "json", "jsonc", "sql", "yaml"}


def blocks(*languages):
    found = [block for block in all_blocks() if block.language in languages and block.page not in STORIES]
    return pytest.mark.parametrize("block", found, ids=lambda block: block.name)


def is_script(block):
    """Whether a page's own commands run it."""
    python = [other for other in blocks_of(block.page) if other.language == "python"]
    return block.page in STORIES and STORIES[block.page][python.index(block)] is not None


def is_test(block):
    return "@pytest.mark" in block.text


def commands_of(text):
    """The command lines of a shell script that begin with castscope, or have it as their program; comments are off."""
    text = re.sub(r"\\\n", " ", text)
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        for at, word in enumerate(words):
            if word == "castscope":
                end = next((i for i, later in enumerate(words[at:], at) if later in ("|", "||", ">", ">>", "&&", ";")),
                           len(words))
                yield words[at + 1:end]
                break


@pytest.fixture(scope="session")
def options_of(programs):
    """Returns the options that a command of castscope has, from its --help; None where there is no such command."""
    known = {}

    def ask(command):
        if command not in known:
            done = subprocess.run([programs / "castscope", *command, "--help"], capture_output=True, text=True,
                                  check=False)
            is_there = f"Usage: castscope {' '.join(command)} " in done.stdout
            known[command] = set(re.findall(r"(?<![\w-])-{1,2}[a-z][\w-]*", done.stdout)) if is_there else None
        return known[command]
    return ask


def check_form(words, options_of):
    """A command of castscope exists, and has the options that stand before the job's own command."""
    words = words[:words.index("--")] if "--" in words else words
    depth = 2 if words[:1] in (["policy"], ["notebook"]) else 1
    command, rest = tuple(words[:depth]), words[depth:]
    options = options_of(command)
    assert options is not None, f"there is no castscope {' '.join(command)}"
    given = {word.split("=")[0] for word in rest if re.match(r"--?[a-zA-Z]", word)}
    assert given <= options, f"castscope {' '.join(command)} has no {', '.join(sorted(given - options))}"


def check_printed(block, output):
    """It printed what the page shows behind it."""
    shown = next((other for other in blocks_of(block.page) if other.line > block.line), None)
    if shown is not None and shown.follows and shown.language == "text":
        assert is_printed(shown.text, output), f"{block.name}\n{output}"


def check_run(block, done):
    assert done.returncode == 0, f"{block.name}\n{done.stdout}"
    check_printed(block, done.stdout)


def test_every_block_has_a_language():
    assert {block.name: block.language for block in all_blocks() if block.language not in LANGUAGES} == {}


@pytest.mark.parametrize("page", OWN_TESTS)
def test_a_page_with_a_test_of_its_own_has_one(page):
    assert page in (ROOT / OWN_TESTS[page]).read_text()


def test_what_is_not_run_is_there():
    found = [block for block in all_blocks() if block.page not in STORIES]
    assert set(EXCEPTIONS) | set(PICTURES) <= {block.name for block in found}
    assert {block.page for block in found if block.language == "diff"} <= set(OWN_TESTS)
    names = [block.name for block in found if block.page not in OWN_TESTS]
    assert len(set(names)) == len(names), "two blocks of a page begin alike: a name would mean both"


@blocks("sh")
def test_a_shell_block_runs(block, workshop, options_of):
    for words in commands_of(block.text):
        check_form(words, options_of)
    if block.name in EXCEPTIONS or block.page in OWN_TESTS:
        return
    check_run(block, workshop.first if block.text == workshop.first_block else workshop.run(block.text))


@blocks("text")
def test_text_is_what_a_command_prints(block):
    earlier = [other for other in blocks_of(block.page) if other.line < block.line]
    assert block.name in PICTURES or (block.follows and earlier[-1].language in ("sh", "python"))


PYTHON = [block for block in all_blocks()
          if block.language == "python" and not is_script(block) and block.page not in OWN_TESTS]


@pytest.fixture(scope="session")
def ran_in_one_process(workshop):
    """What each block of Python printed, by its name. They share a process, for its start of PyTorch."""
    (workshop.folder / "blocks.json").write_text(json.dumps({block.name: block.text for block in PYTHON
                                                             if not is_test(block)}))
    done = workshop.run_python(HERE / "run_blocks.py", "blocks.json")
    assert done.returncode == 0, done.stdout
    return json.loads((workshop.folder / "printed.json").read_text())


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.name)
def test_python_runs(block, workshop, ran_in_one_process):
    if is_test(block):
        (workshop.folder / "test_of_page.py").write_text(block.text)
        # no:castscope: where the package is installed (scripts/demo does so), pytest would load the plugin once more.
        done = workshop.run_python("-m", "pytest", "-q", "-p", "no:castscope", "-p", "castscope.pytest_plugin",
                                   "--castscope", "-p", "no:cacheprovider", "test_of_page.py")
        assert done.returncode == 0, done.stdout
    else:
        check_printed(block, ran_in_one_process[block.name])


@blocks("json", "jsonc")
def test_json_is_read_and_fits_its_schema(block):
    text = without_comments(block.text) if block.language == "jsonc" else block.text
    value = json.loads(text)
    named = value["$schema"].rsplit("/", 1)[-1]
    jsonschema.validate(value, json.loads((ROOT / SCHEMAS[named]).read_text()))


@blocks("sql")
def test_sql_runs(block, workshop):
    (workshop.folder / "page.sql").write_text(block.text)
    done = workshop.run("sqlite3 -bail train.castscope < page.sql")
    assert done.returncode == 0, done.stdout
    assert "Error" not in done.stdout and done.stdout.strip()


@blocks("yaml")
def test_yaml_is_read_and_its_commands_exist(block, options_of):
    jobs = yaml.safe_load(block.text)["jobs"]
    commands = [words for job in jobs.values() for step in job["steps"] if "run" in step
                for words in commands_of(step["run"])]
    assert commands
    for words in commands:
        check_form(words, options_of)


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_sentences_exist(page, options_of):
    for span in re.findall(r"`(castscope [^`|…]+)", FENCE.sub("", (ROOT / page).read_text())):
        words = [word.strip("[],;:") for word in span.rstrip("\\").split()[1:]]
        if words and re.fullmatch(r"[a-z][a-z-]*", words[0]):
            check_form(words if words[0] != "policy" or len(words) > 1 else ["policy", "list"], options_of)


def tell(story, fresh):
    """Runs the commands of a page. Returns each with its outcome, up to one that fails."""
    scripts, told = iter(STORIES[story]), []
    for block in blocks_of(story):
        script = next(scripts) if block.language == "python" else None
        if script is not None:
            (fresh.folder / script).write_text(block.text)
        elif block.language == "sh":
            told.append((block, fresh.run(block.text)))
            if told[-1][1].returncode != 0:
                break
    return told


@pytest.fixture(scope="module")
def stories(side_by_side):
    return side_by_side(tell, "story")


@pytest.mark.parametrize("story", STORIES)
def test_a_story_goes_as_its_page_says(story, stories, options_of):
    assert len([block for block in blocks_of(story) if block.language == "python"]) == len(STORIES[story])
    for block, done in stories[story]:
        for words in commands_of(block.text):
            check_form(words, options_of)
        check_run(block, done)


def test_numbers_and_breaks_may_differ_and_words_may_not():
    assert is_printed("a 1 b\nc", "x a 22.5\nb c y")
    assert is_printed("a … d", "a b\nc d") and not is_printed("d … a", "a b\nc d")
    assert not is_printed("a 1 b", "a 1 c")


def test_options_that_are_not_there_are_found(options_of):
    check_form(shlex.split("run -o smoke -- python train.py --steps 20"), options_of)
    for wrong in ("run --bogus -- python x.py", "bogus", "policy bogus x"):
        with pytest.raises(AssertionError):
            check_form(shlex.split(wrong), options_of)
