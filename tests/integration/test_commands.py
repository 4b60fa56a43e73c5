"""The commands that start no job."""

import functools
import importlib.util
import json
import os
import pathlib
import re
import runpy
import subprocess
import sys

import pytest
from collectors import certificate_for_loopback
from program import Castscope, clean_environment

COMMANDS = ["run", "report", "check", "diff", "rules", "explain", "recover", "serve", "env", "doctor"]
OLD_NAMES = ["convert"]


@pytest.mark.parametrize("command", COMMANDS + OLD_NAMES)
def test_help_has_examples(castscope, command):
    done = castscope(command, "--help")
    assert done.returncode == 0 and f"castscope {command}".encode() in done.stdout and b"Examples:" in done.stdout


def test_help_lists_all_commands_and_hides_ours(castscope):
    text = castscope("--help").stdout.decode()
    assert all(re.search(rf"^  {command} ", text, re.MULTILINE) for command in COMMANDS)
    assert not any(re.search(rf"^  {ours} ", text, re.MULTILINE)
                   for ours in ("relay", "build-agent", "counts", *OLD_NAMES))


def test_version(castscope):
    assert re.fullmatch(rb"castscope \d+\.\d+\.\d+\n", castscope("version").stdout)


def test_program_is_static(castscope):
    kind = subprocess.run(["readelf", "-d", castscope.program], capture_output=True, text=True, check=True).stdout
    assert "NEEDED" not in kind


def test_report_again_is_the_same(castscope):
    castscope.run("true")
    assert castscope("report", "run.castscope").stdout == (castscope.folder / "run.json").read_bytes()


def test_report_into_a_file(castscope):
    castscope.run("true")
    assert castscope("report", "run.castscope", "-o", "again.json").returncode == 0
    assert (castscope.folder / "again.json").read_bytes() == (castscope.folder / "run.json").read_bytes()
    refused = castscope("report", "run.castscope", "-o", "again.json")
    assert refused.returncode == 2 and b"--force" in refused.stderr
    assert castscope("report", "run.castscope", "-o", "again.json", "--force").returncode == 0


def test_summary_again(castscope):
    castscope.run("true")
    done = castscope("report", "--summary", "run.castscope")
    assert done.returncode == 0 and done.stdout == b"" and b"run.json" in done.stderr


def test_report_to_a_full_disk(castscope):
    castscope.run("true")
    with open("/dev/full", "wb") as full:
        done = castscope("report", "run.castscope", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2 and b"standard output cannot be written" in done.stderr


@pytest.mark.parametrize("command", ["env", "version", "--help", "run --help", "recover --list"])
def test_what_nobody_can_read_is_no_success(castscope, command):
    castscope.run("true")  # nothing is left to build
    with open("/dev/full", "wb") as full:
        done = castscope(*command.split(), capture_output=False, stdout=full, stderr=subprocess.PIPE)
    nothing_to_say = command == "recover --list" and b"nothing to recover" in done.stderr
    assert nothing_to_say or (done.returncode == (125 if command == "run --help" else 2)
                               and b"standard output cannot be written" in done.stderr)


@pytest.mark.parametrize("command", ["report", "convert"])
@pytest.mark.parametrize("output", ["run.castscope", "hard", "symbolic", "run.castscope-wal", "run.castscope-shm"])
def test_a_run_is_not_overwritten_by_itself(castscope, command, output):
    castscope.run("true")
    run_file = castscope.folder / "run.castscope"
    (castscope.folder / "hard").hardlink_to(run_file)
    (castscope.folder / "symbolic").symlink_to(run_file)
    before = run_file.read_bytes()
    for name in ("run.castscope", "symbolic"):
        done = castscope(command, name, "-o", output, "--force")
        assert done.returncode == 2 and b"is the run itself" in done.stderr
    assert run_file.read_bytes() == before and not list(castscope.folder.glob("*-wal"))


def test_a_report_into_a_device_leaves_the_device(castscope):
    castscope.run("true")
    os.mkfifo(castscope.folder / "pipe")
    reader = subprocess.Popen(["cat", castscope.folder / "pipe"], stdout=subprocess.PIPE)
    assert castscope("report", "run.castscope", "-o", "pipe", "--force").returncode == 0
    assert reader.communicate(timeout=300)[0] == (castscope.folder / "run.json").read_bytes()


def test_a_pipe_is_no_run_file(castscope):
    os.mkfifo(castscope.folder / "pipe")
    done = castscope("report", "pipe", timeout=300)
    assert done.returncode == 3 and b"pipe: this is not an ordinary file" in done.stderr


LEAVE_A_LOG = """
import os, sqlite3
file = sqlite3.connect('run.castscope')
file.execute("UPDATE run SET value = value + 1 WHERE key = 'start_epoch_ns'")
file.commit()
os._exit(0)
"""


def test_a_file_that_its_writer_left_in_a_folder_of_others(castscope):
    """The contents of its log can be read only where SQLite may make its index; without a log the file is complete."""
    if os.geteuid() != 0 or subprocess.run(["setpriv", "--reuid", "54321", "test", "-x", castscope.program],
                                           check=False).returncode != 0:
        pytest.skip("needs root, for another user, and the program where he can reach it")
    job = castscope.start("sh", "-c", "echo $CASTSCOPE_RUN; read line", stdin=subprocess.PIPE)
    directory = job.stdout.readline().decode().strip()
    while b"recording into" not in job.stderr.readline():
        pass
    job.kill()
    job.communicate(timeout=300)
    castscope("recover", "--discard", directory)
    subprocess.run([sys.executable, "-c", LEAVE_A_LOG], cwd=castscope.folder, check=True)
    for folder in (castscope.folder, *castscope.folder.parents[:2]):
        folder.chmod(0o755)

    def as_other():
        return subprocess.run(["setpriv", "--reuid", "54321", "--clear-groups", str(castscope.program), "report",
                               "run.castscope"], cwd=castscope.folder, capture_output=True, timeout=300, check=False)
    log = castscope.folder / "run.castscope-wal"
    assert log.stat().st_size > 0
    (castscope.folder / "run.castscope-shm").unlink()
    done = as_other()
    assert done.returncode == 3 and b"run.castscope-wal" in done.stderr and b"copy both files" in done.stderr
    assert castscope("report", "run.castscope").returncode == 0  # which takes the log into the file
    assert not log.exists()
    assert as_other().returncode == 0


def test_convert_formats(castscope):
    castscope.run("true")
    assert castscope("convert", "run.castscope").stdout == castscope("report", "-f", "jsonl", "run.castscope").stdout
    assert isinstance(json.loads(castscope("convert", "-f", "chrome", "run.castscope").stdout), (dict, list))
    assert castscope("convert", "-f", "pdf", "run.castscope").returncode == 2


@pytest.fixture(scope="module")
def examined(tmp_path_factory):
    """What doctor says of this Python, with these variables."""
    @functools.cache
    def checks(**environment):
        castscope = Castscope(tmp_path_factory.mktemp("examined"))
        done = castscope("doctor", "--json", "--", sys.executable, env=clean_environment(**environment))
        assert done.returncode == 0
        return {check["check_name"]: check for check in json.loads(done.stdout)["checks"]}
    return checks


def test_doctor_as_json(examined):
    checks = examined()
    assert {"castscope", "compiler", "preload", "python", "torch", "agent", "attaching", "memory",
            "leftovers"} <= set(checks)
    assert checks["attaching"]["check_state"] == "ok", checks["attaching"]
    assert checks["torch"]["check_state"] == "ok" and checks["preload"]["check_state"] == "ok"


def test_doctor_tells_of_gpus(examined):
    plain, odd = examined(), examined(CASTSCOPE_GPU="yes")
    torch = pathlib.Path(importlib.util.find_spec("torch").origin).parent
    built = runpy.run_path(str(torch / "version.py"))["cuda"] or "without CUDA"
    assert plain["cuda"]["check_state"] == "ok" and built in plain["cuda"]["found"]
    assert plain["gpu"]["check_state"] == "ok" and odd["gpu"]["check_state"] == "warning" and odd["gpu"]["fix"]


def test_doctor_without_a_compiler(castscope, python, tmp_path):
    done = castscope("doctor", "--", python, env=clean_environment(PATH=tmp_path, CXX="", CC=""))
    assert done.returncode == 1 and b"install g++" in done.stdout


def test_doctor_tells_of_a_python_without_torch(castscope, tmp_path):
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    done = castscope("doctor", "--", tmp_path / "venv/bin/python")
    assert done.returncode == 1 and b"not installed for this Python" in done.stdout


def test_env_can_be_evaluated(castscope, python):
    done = castscope("env", "-o", "it's here", "--collector", "localhost:1", "--", python)
    shell = subprocess.run(["sh", "-c", done.stdout.decode() + "env"], capture_output=True, text=True,
                           check=True).stdout
    values = dict(line.split("=", 1) for line in shell.splitlines() if "=" in line)
    assert values["LD_PRELOAD"].endswith("libcastscope.so")
    assert values["CASTSCOPE_OUT"] == str(castscope.folder / "it's here")
    assert values["CASTSCOPE_COLLECTOR"] == "localhost:1"


def variables_of(castscope, python, *options, **environment):
    done = castscope("env", *options, "--", python, text=True, env=clean_environment(**environment))
    assert done.returncode == 0, done.stderr
    shell = subprocess.run(["env", "-i", "sh", "-c", done.stdout + "env"], capture_output=True, text=True, check=True)
    return dict(line.split("=", 1) for line in shell.stdout.splitlines())


def test_env_tells_how_a_collector_is_reached(castscope, python):
    token, authority = castscope.folder / "token", castscope.folder / "cert.pem"
    certificate_for_loopback(castscope.folder)
    token.write_text("secret\n")
    token.chmod(0o600)
    told = {"CASTSCOPE_TOKEN_FILE": str(token), "CASTSCOPE_CA": str(authority)}
    given = variables_of(castscope, python, "--collector", "localhost:1", "--token-file", "token", "--ca", "cert.pem")
    assert told.items() <= given.items()
    assert told.items() <= variables_of(castscope, python, "--collector", "localhost:1", **told).items()
    assert not told.keys() & variables_of(castscope, python, **told).keys()
    token.chmod(0o644)
    refused = castscope("env", "--collector", "localhost:1", "--token-file", "token", "--", python)
    assert refused.returncode == 2 and b"can be read by others" in refused.stderr and refused.stdout == b""


def test_env_tells_what_is_withheld(castscope, python):
    told = variables_of(castscope, python, "--redact", "ann", "--no-source", CASTSCOPE_REDACT="bob")
    assert (told["CASTSCOPE_REDACT"], told["CASTSCOPE_NO_SOURCE"]) == ("(?:ann)|(?:bob)", "1")
    refused = castscope("env", "--redact", "a(", "--", python)
    assert refused.returncode == 2 and b"is not a regular expression of RE2" in refused.stderr


def test_nothing_to_recover(castscope, tmp_path):
    done = castscope("recover", tmp_path / "nowhere")
    assert done.returncode == 3 and b"is not a run directory" in done.stderr


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:7390"])
def test_serve_refuses_to_be_open_to_others(castscope, address):
    done = castscope("serve", "--listen", address)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("words, sentence", [(["bogus"], b"there is no command bogus"),
                                             (["--bogus"], b"there is no option --bogus"),
                                             ([], b"a command is missing"),
                                             (["run", "--bogus", "x"], b"`castscope run --help` tells more")])
def test_what_is_wrong_with_a_command_line_is_one_sentence(castscope, words, sentence):
    done = castscope(*words)
    assert done.returncode == (125 if words[:1] == ["run"] else 2) and done.stdout == b""
    assert done.stderr.startswith(b"castscope: ") and sentence in done.stderr and done.stderr.count(b"\n") == 1


def test_version_as_an_option(castscope):
    assert castscope("--version").stdout == castscope("version").stdout


@pytest.mark.parametrize("named, sentence", [("/nonexist", b"/nonexist: there is no such program"),
                                             ("/bin/ls", b"/bin/ls is not a Python")])
def test_doctor_examines_no_other_python_than_the_one_named(castscope, named, sentence):
    done = castscope("doctor", "--", named)
    assert done.returncode == 1 and sentence in done.stdout


def test_env_refuses_what_cannot_work(castscope, python):
    refused = castscope("env", "--collector", "nonsense", "--", python)
    assert refused.returncode == 2 and b'"nonsense" is not a collector\'s address' in refused.stderr
    assert b"7390" in refused.stderr
    refused = castscope("env", "--plain", "-o", "a b", "--", python)
    assert refused.returncode == 2 and refused.stdout == b"" and b"CASTSCOPE_OUT" in refused.stderr


def test_env_in_an_environment_of_its_own_repeats_nothing(castscope, python_without_us):
    once = f'eval "$({castscope.program} env -- {python_without_us})"'

    def environment_after(command):
        out = subprocess.run(["sh", "-c", f"{command}; env"], env=clean_environment(), capture_output=True, text=True,
                             check=True).stdout
        ours = ("CASTSCOPE_AGENTS=", "CASTSCOPE_BIN=", "LD_PRELOAD=", "PYTHONPATH=")
        return [line for line in out.splitlines() if line.startswith(ours)]

    assert len(environment_after(once)) == 4
    assert sorted(environment_after(f"{once}; {once}")) == sorted(environment_after(once))


def test_what_is_left_over_is_listed_on_stdout(castscope):
    job = castscope.start("sh", "-c", "echo $CASTSCOPE_RUN; read line", stdin=subprocess.PIPE)
    directory = job.stdout.readline().strip()
    job.kill()
    job.communicate(timeout=300)
    listed = castscope("recover", "--list")
    assert directory in listed.stdout.splitlines(), listed
    castscope("recover", "--discard", directory.decode())


def test_a_kernel_has_the_name_that_jupyter_knows(castscope, python):
    done = castscope("notebook", "install", "--name", "UPPER", "--prefix", castscope.folder, "-o", "runs", "--", python,
                     text=True)
    assert done.returncode == 0 and "`jupyter kernelspec remove upper` removes it" in done.stdout, done.stderr
    words = json.loads((castscope.folder / "share/jupyter/kernels/upper/kernel.json").read_text())["argv"]
    assert words[words.index("-o") + 1] == f"{castscope.folder}/runs/"  # each start of it has a run of its own
