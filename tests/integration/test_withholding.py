"""What is to be withheld is in no file, in no message and on no page: neither what matches a pattern, nor secrets of
command lines, nor source."""

import contextlib
import json
import socket
import sqlite3
import subprocess

import pytest
from program import ROOT, clean_environment
from test_spool import until
from viewer import view  # noqa: F401
from wiretap import Wiretap
from work import eventually

# `planted` stands in names of folders, files, functions and modules, and in the source.
TRAIN = """
import sys, torch
torch.set_num_threads(1)
class Planted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc_planted = torch.nn.Linear(8, 8)
    def forward(self, x):
        return self.fc_planted(x)  # a line of the source
def train_planted(net):
    with torch.autocast('cpu', torch.bfloat16):
        net(torch.ones(4, 8)).sum().backward()
net = Planted()
for _ in range(3):
    train_planted(net)
if '--wait' in sys.argv:
    print('trained', flush=True)
    sys.stdin.readline()
"""
PLANTED, OF_SOURCE = b"planted", b"a line of the source"
SECRETS = [b"hunter2", b"my-key", b"hf_abcdefghijklmnopqrstuvwxyz", b"my-bearer", b"my-pass"]
SECRET_WORDS = ["--password", "hunter2", "--wandb.api_key=my-key", "--to", "hf_abcdefghijklmnopqrstuvwxyz",
                "--header", "Authorization: Bearer my-bearer", "--pass", "my-pass word", "plain", "--max-tokens", "512"]
SHOWN_WORDS = ["--password", "[redacted]", "--wandb.api_key=[redacted]", "--to", "[redacted]",
               "--header", "Authorization: Bearer [redacted]", "--pass", "[redacted]", "plain", "--max-tokens", "512"]
CASTS = 3 * 3  # weight, bias and input


@pytest.fixture
def job(castscope, python):
    """The words of a job in a folder that is to be hidden. The folder is a checkout of Git, with a planted branch."""
    folder = castscope.folder / "planted-project"
    folder.mkdir()
    (folder / "train_planted.py").write_text(TRAIN)
    (folder / "castscope.json").write_text(json.dumps({"per-path-ignores": {"planted/*.py": ["cache-grows"]}}))
    for words in (["init", "-q", "-b", "planted-branch"], ["add", "."],
                  ["-c", "user.name=me", "-c", "user.email=me@me", "commit", "-q", "-m", "x"],
                  ["remote", "add", "origin", "https://me:hunter2@host/planted.git"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    castscope.project = folder
    return [python, "train_planted.py", *SECRET_WORDS]


def run(castscope, job, *options, output, **more):
    done = castscope("run", *options, "-o", output, "--", *job, **{"cwd": castscope.project, "text": True} | more)
    assert done.returncode == 0, done.stderr
    return done


def all_forms(castscope, run_file):
    """The run file and everything that is made of it."""
    forms = {"run file": run_file.read_bytes(), "report": run_file.with_suffix(".json").read_bytes()}
    for form in ("html", "sarif", "md", "csv", "perfetto", "jsonl"):
        done = castscope("report", "-f", form, run_file)
        assert done.returncode == 0, done.stderr
        forms[form] = done.stdout
    return forms


def texts_in(run_file):
    """All texts of all tables."""
    with contextlib.closing(sqlite3.connect(run_file)) as file:
        tables = [name for name, in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [row for table in tables for row in file.execute(f'SELECT * FROM "{table}"')]
    return "\n".join(value for row in rows for value in row if isinstance(value, str)).encode()


def hiding(forms, *texts):
    """The names of those forms in which one of the texts is, in whichever case."""
    return {name for name, content in forms.items() if any(text in content.lower() for text in texts)}


def test_without_being_asked_it_withholds_secrets_alone(castscope, job):
    done = run(castscope, job, output="../run")
    forms = all_forms(castscope, castscope.folder / "run.castscope")
    assert hiding(forms, *SECRETS) == set() and "hunter2" not in done.stderr
    assert hiding(forms, PLANTED) == set(forms)
    assert {"run file", "html"} <= hiding(forms, OF_SOURCE)
    report = castscope.report()
    assert report["run"]["command"][2:] == SHOWN_WORDS
    process, = report["processes"]
    assert process["command_line"] == " ".join(report["run"]["command"])


def test_what_matches_a_pattern_is_in_no_file(castscope, job):
    host = socket.gethostname()
    run(castscope, job, "--redact", "(?i)planted", "--redact", host, output="../run")
    forms = all_forms(castscope, castscope.folder / "run.castscope")
    assert hiding(forms, PLANTED, *SECRETS) == set()
    # Two letters may be among compressed bytes by chance, so a machine's name is looked for among texts.
    texts = {form: content for form, content in forms.items() if form not in ("run file", "html", "perfetto")}
    texts["run file"] = texts_in(castscope.folder / "run.castscope")
    assert hiding(texts, host.encode().lower()) == set()
    report = castscope.report()
    assert report["totals"]["casts"] == CASTS and report["run"]["complete"]
    assert report["run"]["cwd"].endswith("/[redacted]-project")


def test_a_pattern_of_the_environment_counts_too(castscope, job):
    run(castscope, job, "--redact", "train_pl", output="../run", env=clean_environment(CASTSCOPE_REDACT="(?i)planted"))
    assert hiding(all_forms(castscope, castscope.folder / "run.castscope"), PLANTED, b"train_pl") == set()


def test_a_collector_and_the_wire_to_it_see_nothing_of_it(castscope, job, collector):
    tap = Wiretap(castscope.folder / "tap", collector.address)
    try:
        run(castscope, job, "--redact", "(?i)planted", "--collector", tap.address, output="sent")
        open_text = len(tap.heard)
        run(castscope, job, "--collector", tap.address, output="open")
    finally:
        tap.close()
    assert PLANTED not in bytes(tap.heard[:open_text]).lower() and PLANTED in bytes(tap.heard[open_text:]).lower()
    assert not any(secret in tap.heard for secret in SECRETS)
    report = collector.report("sent")
    assert report["totals"]["casts"] == CASTS and report["run"]["complete"]
    forms = all_forms(castscope, collector.folder / "sent.castscope") | {"log": collector.log.encode()}
    forms.pop("log") if "open" in collector.log else None
    assert hiding(forms, PLANTED, OF_SOURCE, *SECRETS) == set()


def test_the_spool_has_nothing_of_it(castscope, job):
    spool = castscope.folder / "spool"
    environment = clean_environment(CASTSCOPE_SPOOL=spool, CASTSCOPE_SPOOL_BYTES="1 MB")
    nobody = f"unix:{castscope.folder}/nobody"
    run(castscope, job, "--redact", "(?i)planted", "--collector", nobody, output="run", env=environment)
    waiting, = spool.iterdir()
    content = waiting.read_bytes().lower()
    assert b"castscope spool" in content and b"[redacted]-project" in content
    assert not any(text in content for text in [PLANTED, *SECRETS])


def test_what_is_recovered_is_redacted_as_its_job_was_told(castscope, job):
    job = subprocess.Popen([str(castscope.program), "run", "--redact", "(?i)planted", "--no-source", "--", *job,
                            "--wait"], cwd=castscope.project, env=clean_environment(), text=True,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert job.stdout.readline() == "trained\n"
    until(lambda: list(castscope.project.glob("*.castscope")))
    job.kill()
    job.communicate("\n")
    listed = castscope("recover", "--list", text=True).stdout
    assert "--password [redacted]" in listed and not any(secret in listed.encode() for secret in SECRETS)
    directory = next(line for line in listed.splitlines() if line.startswith("/") and str(job.pid) in line)
    done = castscope("recover", "-o", "run", directory, text=True)
    assert done.returncode in (0, 3) and "recovered" in done.stderr, done.stderr
    assert hiding(all_forms(castscope, castscope.folder / "run.castscope"), PLANTED, OF_SOURCE, *SECRETS) == set()


def test_two_places_that_differ_in_what_is_hidden_stay_two(castscope, python):
    for name, times in (("ann", 2), ("bob", 5)):
        (castscope.folder / name).mkdir()
        (castscope.folder / name / "work.py").write_text(
            "import torch\nwith torch.autocast('cpu', torch.bfloat16):\n"
            f"    for _ in range({times}): torch.mm(torch.ones(2, 2), torch.ones(2, 2))\n")
    (castscope.folder / "both.py").write_text(
        "import runpy\nfor name in ('ann', 'bob'): runpy.run_path(name + '/work.py')\n")
    counts = []
    for options in ([], ["--redact", "ann|bob"]):
        done = castscope("run", "--force", *options, "-o", "run", "--", python, "both.py")
        assert done.returncode == 0, done.stderr
        counts.append(sorted((*site["location"]["file"].split("/")[-2:], site["casts"])
                             for site in castscope.report()["sites"] if site["casts"]))
    assert counts == [[("ann", "work.py", 2)] * 2 + [("bob", "work.py", 5)] * 2,
                      [("[redacted 2]", "work.py", 5)] * 2 + [("[redacted]", "work.py", 2)] * 2]


def test_no_source_is_read(castscope, job, view):
    run(castscope, job, "--no-source", output="../run")
    forms = all_forms(castscope, castscope.folder / "run.castscope")
    assert hiding(forms, OF_SOURCE) == set()
    page = view("run.castscope")
    page.loaded()
    told = page.json("runs/run/source?file=train_planted.py")
    assert told["source_lines"] == [] and told["casts_by_line"]


@pytest.mark.parametrize("options", [["--no-source"], ["--redact", "no such thing"]])
def test_a_collected_run_is_shown_without_source_where_its_files_are(castscope, job, collector, view, options):
    run(castscope, job, *options, "--collector", collector.address, output="sent")
    collector.stop()
    page = view("collected/sent.castscope")
    page.loaded("sent")
    told = page.json("runs/sent/source?file=train_planted.py")
    assert told["source_lines"] == [] and told["casts_by_line"]


def test_the_page_shows_a_redacted_runs_kept_lines_alone(castscope, job, view):
    run(castscope, job, "--redact", "of the source|fc_planted", output="../run")
    page = view("run.castscope")
    page.loaded()
    lines = [line["source_text"] for line in page.json("runs/run/source?file=train_planted.py")["source_lines"]]
    assert "        return self.[redacted](x)  # a line [redacted 2]" in lines and "import sys, torch" not in lines


@pytest.mark.parametrize("options, variables, told", [
    (["--redact", "a("], {}, '"a(" is not a regular expression of RE2: missing ): a('),
    (["--redact", ""], {}, "is empty"),
    ([], {"CASTSCOPE_REDACT": "[z"}, 'CASTSCOPE_REDACT: "[z" is not a regular expression')])
def test_a_pattern_that_is_none_keeps_the_job_from_starting(castscope, options, variables, told):
    done = castscope("run", *options, "--", "touch", "started", text=True, env=clean_environment(**variables))
    assert done.returncode == 125 and told in " ".join(done.stderr.split())
    assert not (castscope.folder / "started").exists()


def bare(castscope, job, **variables):
    done = castscope.bare(*job, cwd=castscope.project, env={"CASTSCOPE_OUT": str(castscope.folder / "run")} | variables)
    assert done.returncode == 0, done.stderr
    report = eventually(castscope.folder / "run.json")
    assert report["totals"]["casts"] == CASTS
    return report, all_forms(castscope, castscope.folder / "run.castscope")


def test_a_bare_job_withholds_what_its_environment_says(castscope, job):
    _, forms = bare(castscope, job, CASTSCOPE_REDACT="(?i)planted", CASTSCOPE_NO_SOURCE="1")
    assert hiding(forms, PLANTED, OF_SOURCE, *SECRETS) == set()


def test_a_bare_job_with_a_pattern_that_is_none_tells_no_text(castscope, job):
    report, forms = bare(castscope, job, CASTSCOPE_REDACT="(planted")
    assert hiding(forms, PLANTED, OF_SOURCE, *SECRETS, str(ROOT).encode().lower()) == set()
    assert hiding({name: forms[name] for name in ("run file", "report")}, b"linear") == set()
    assert report["run"]["notices"] == [
        "CASTSCOPE_REDACT is not a regular expression of RE2: every text of this run was redacted"]
