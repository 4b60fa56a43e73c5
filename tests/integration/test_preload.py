"""libcastscope.so in processes that have nothing to do with PyTorch, and in front of a fake libtorch."""

import pathlib
import re
import struct
import subprocess

import pytest
from program import ROOT, clean_environment

HERE = pathlib.Path(__file__).resolve().parent / "preload"


@pytest.fixture
def made(tmp_path):
    """Compiles one of the C files beside this one."""
    def make(source, output, *options):
        subprocess.run(["gcc", "-O2", f"-I{ROOT}", str(HERE / source), "-o", str(tmp_path / output), *options],
                       check=True, env=clean_environment())
        return tmp_path / output
    return make


@pytest.fixture
def run_folder(tmp_path):
    folder = tmp_path / "run-directory"
    folder.mkdir(mode=0o700)
    return folder


def silent(done):
    return done.stderr == b""


def test_shell_notices_nothing(castscope):
    done = castscope.bare("bash", "-c", "echo out; cat < /dev/null; exit 3")
    assert (done.returncode, done.stdout) == (3, b"out\n") and silent(done)


def test_shell_shares_one_run_with_its_children(castscope):
    done = castscope.bare("bash", "-c", "echo $CASTSCOPE_RUN; sh -c 'echo $CASTSCOPE_RUN'; env | grep ^CASTSCOPE_RUN")
    own, child, seen = done.stdout.decode().split()
    assert own == child and seen == f"CASTSCOPE_RUN={own}" and "/castscope-" in own


def test_no_run_directory_without_torch(castscope):
    done = castscope.bare("bash", "-c", "echo $CASTSCOPE_RUN")
    assert not pathlib.Path(done.stdout.decode().strip()).exists()


def test_off_leaves_the_environment_alone(castscope):
    done = castscope.bare("env", env={"CASTSCOPE_OFF": "1"})
    assert b"CASTSCOPE_RUN" not in done.stdout and silent(done)


def test_compiler_works(castscope, tmp_path):
    (tmp_path / "hello.cc").write_text('#include <cstdio>\nint main() { std::puts("hello"); }\n')
    done = castscope.bare("g++", "hello.cc", "-o", "hello")
    assert done.returncode == 0 and silent(done)
    assert castscope.bare("./hello").stdout == b"hello\n"


def test_python_without_torch(castscope, python):
    code = ("import os, subprocess, multiprocessing\n"
            "pid = os.fork()\n"
            "if pid == 0: os._exit(7)\n"
            "print(os.waitpid(pid, 0)[1] >> 8, subprocess.call(['sh', '-c', 'exit 4']))\n"
            "try: os.execv('/nonexistent', ['x'])\n"
            "except OSError: print('still here')\n")
    done = castscope.bare(python, "-c", code)
    assert (done.returncode, done.stdout) == (0, b"7 4\nstill here\n") and silent(done)


@pytest.mark.parametrize("call", ["os._exit(9)", "sys.exit(9)", "os.execvp('sh', ['sh', '-c', 'exit 9'])"])
def test_every_way_to_end(castscope, python, call):
    assert castscope.bare(python, "-c", f"import os, sys; {call}").returncode == 9


def test_exports_only_what_it_interposes(castscope):
    listed = subprocess.run(["nm", "-D", "--defined-only", castscope.preload], capture_output=True, text=True,
                            check=True).stdout
    names = {line.split()[-1] for line in listed.splitlines()}
    of_torch = set(re.findall(r"\b_ZN\w+", (ROOT / "agent/interposed/interface.h").read_text()))
    assert len(of_torch) > 10
    assert names == of_torch | {"_exit", "_Exit", "__asan_default_options", "initModule", "castscope_thread",
                                "castscope_step", "castscope_metric", "castscope_rule_met", "castscope_compared",
                                "castscope_annotated", "castscope_annotated_end", "castscope_attached",
                                "castscope_arrived", "castscope_attach_here"}


def test_stubs_keep_every_argument(castscope, made, run_folder):
    torch = made("fake_torch.c", "libtorch_cpu.so", "-shared", "-fPIC")
    caller = made("caller.c", "caller", "-pthread", "-ldl")
    done = castscope.bare(caller, torch, env={"CASTSCOPE_RUN": str(run_folder)})
    assert (done.returncode, done.stdout) == (0, b"all arguments arrived\n")


def test_no_agent_is_said_once_for_all_processes(castscope, made, run_folder):
    torch = made("fake_torch.c", "libtorch_cpu.so", "-shared", "-fPIC")
    caller = made("caller.c", "caller", "-pthread", "-ldl")
    done = castscope.bare("sh", "-c", f"{caller} {torch}; {caller} {torch}", env={"CASTSCOPE_RUN": str(run_folder)})
    assert done.returncode == 0
    assert done.stderr.count(b"there is no agent for the PyTorch in") == 1 and done.stderr.count(b"\n") == 1


def seal(file):
    """Puts the mark of a whole agent at the file's end (agent/interposed/seal.h)."""
    content = file.read_bytes()
    value = 14695981039346656037
    for at in range(0, len(content), 8):
        word = int.from_bytes(content[at:at + 8], "little")
        value = (value ^ word) * 1099511628211 % 2**64
    file.write_bytes(content + struct.pack("<8sQQ", b"CSTSEAL1", len(content), value))


def agent_for(made, torch, folder):
    """Installs the fake agent under the name by which the fake torch asks for it."""
    notes = subprocess.run(["readelf", "-n", torch], capture_output=True, text=True, check=True).stdout
    key = next(line.split(":")[1].strip() for line in notes.splitlines() if "Build ID" in line)
    agent = made("fake_agent.c", f"{folder.name}/castscope_agent-{key}.so", "-shared", "-fPIC")
    seal(agent)
    return agent


@pytest.fixture
def with_agent(made, tmp_path, run_folder):
    torch = made("fake_torch.c", "libtorch_cpu.so", "-shared", "-fPIC", "-Wl,--build-id")
    (tmp_path / "agents").mkdir()
    agent_for(made, torch, tmp_path / "agents")
    return torch, {"CASTSCOPE_RUN": str(run_folder), "CASTSCOPE_AGENTS": f"/nowhere:{tmp_path / 'agents'}"}


def test_agent_is_loaded_once_and_told_the_exit_status(castscope, made, with_agent, run_folder):
    torch, environment = with_agent
    caller = made("caller.c", "caller", "-pthread", "-ldl")
    done = castscope.bare(caller, torch, env=environment)
    assert done.returncode == 0 and silent(done)
    lines = (run_folder / "fake-agent.txt").read_text().splitlines()
    assert lines[0].startswith("start in ") and lines[1:] == ["exit with 0"]
    assert (run_folder / f"{lines[0].split()[-1]}.attached").exists()


@pytest.mark.parametrize("harm", ["cut short", "changed", "not sealed", "empty"])
def test_an_agent_that_is_not_whole_is_left_alone(castscope, made, with_agent, tmp_path, harm):
    torch, environment = with_agent
    agent = next((tmp_path / "agents").iterdir())
    content = agent.read_bytes()
    agent.write_bytes({"cut short": content[:4096], "changed": content[:5000] + b"x" + content[5001:],
                       "not sealed": content[:-24], "empty": b""}[harm])
    caller = made("caller.c", "caller", "-pthread", "-ldl")
    done = castscope.bare(caller, torch, env=environment)
    assert (done.returncode, done.stdout) == (0, b"all arguments arrived\n")
    assert b"is damaged: the job runs on unobserved" in done.stderr and done.stderr.count(b"\n") == 1


def test_a_whole_agent_is_found_behind_a_damaged_one(castscope, made, with_agent, tmp_path, run_folder):
    torch, environment = with_agent
    whole = next((tmp_path / "agents").iterdir())
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / whole.name).write_bytes(whole.read_bytes()[:100])
    environment["CASTSCOPE_AGENTS"] = f"{tmp_path}/damaged:{tmp_path}/agents"
    caller = made("caller.c", "caller", "-pthread", "-ldl")
    done = castscope.bare(caller, torch, env=environment)
    assert done.returncode == 0 and silent(done) and (run_folder / "fake-agent.txt").exists()


TOUCH = ("import ctypes, os, sys\n"
         "ctypes.CDLL(sys.argv[1])\n"
         "ctypes.CDLL(None)._ZN2at8autocast17increment_nestingEv\n"
         "getattr(ctypes.CDLL(None), "
         "'_ZN2at8autocast11cached_castEN3c1010ScalarTypeERKNS_6TensorENS1_10DeviceTypeE')"
         "(*[ctypes.c_long(1)] * 8)\n")


@pytest.mark.parametrize("ending, status", [("os._exit(5)", 5), ("sys.exit(6)", 6),
                                            ("(os.fork() == 0 and os._exit(0)) or os.wait() and os._exit(8)", 8)])
def test_exit_is_told_of_the_process_that_attached(castscope, python, with_agent, run_folder, ending, status):
    torch, environment = with_agent
    done = castscope.bare(python, "-c", TOUCH + ending, torch, env=environment)
    assert done.returncode == status
    lines = (run_folder / "fake-agent.txt").read_text().splitlines()
    assert lines[-1] == f"exit with {status}"


def test_failed_exec_after_vfork_is_not_our_exit(castscope, python, with_agent, run_folder):
    torch, environment = with_agent
    code = TOUCH + ("import subprocess\n"
                    "try: subprocess.run(['/nonexistent'])\n"
                    "except OSError: pass\n"
                    "print(open(os.environ['CASTSCOPE_RUN'] + '/fake-agent.txt').read().count('exit'))\n")
    done = castscope.bare(python, "-c", code, torch, env=environment)
    assert done.stdout == b"0\n"


def test_foreign_run_directory_is_not_used(castscope, made, with_agent, run_folder):
    torch, environment = with_agent
    run_folder.chmod(0o777)
    caller = made("caller.c", "caller", "-pthread", "-ldl")
    done = castscope.bare(caller, torch, env=environment)
    assert done.returncode == 0 and not list(run_folder.iterdir())
    assert b"is open to other users" in done.stderr


# ---------------------------------------------------------------------------------- a policy that must be carried out

ENFORCE = {"CASTSCOPE_ENFORCE": "/a/policy"}
REFUSAL = b"the policy of --enforce cannot be carried out, and this process ends before PyTorch's first operator"


def spoil_nothing(folder, run_folder):
    return {"CASTSCOPE_AGENTS": "/nowhere"}


def spoil_the_agent(folder, run_folder):
    (agent,) = (folder / "agents").iterdir()
    agent.write_bytes(b"no library")


def spoil_its_start(folder, run_folder):
    return {"FAKE_AGENT_REFUSES": "no thread-specific key is left"}


def open_the_run_directory(folder, run_folder):
    run_folder.chmod(0o777)


def remove_the_run_directory(folder, run_folder):
    run_folder.rmdir()


def name_a_run_directory_that_is_too_long(folder, run_folder):
    return {"CASTSCOPE_RUN": "/" + "x" * 5000}


SPOILS = {spoil_nothing: b"there is no agent for the PyTorch in ", spoil_the_agent: b" is damaged: ",
          spoil_its_start: b"no thread-specific key is left: ", open_the_run_directory: b"is open to other users: ",
          remove_the_run_directory: b"which is not there: ",
          name_a_run_directory_that_is_too_long: b"the path of the run directory is too long: "}


@pytest.mark.parametrize("spoil", SPOILS)
def test_a_process_that_cannot_carry_the_policy_out_ends(castscope, made, with_agent, tmp_path, run_folder, spoil):
    torch, environment = with_agent
    environment |= spoil(tmp_path, run_folder) or {}
    caller = made("caller.c", "caller", "-pthread", "-ldl")
    demanded = castscope.bare(caller, torch, env=environment | ENFORCE)
    assert (demanded.returncode, demanded.stdout) == (125, b"")
    assert SPOILS[spoil] in demanded.stderr and REFUSAL in demanded.stderr and demanded.stderr.count(b"\n") == 1
    for more in ({}, ENFORCE | {"CASTSCOPE_ENFORCE_IF_POSSIBLE": "1"}, {"CASTSCOPE_ENFORCE": ""}):
        for old in run_folder.glob("said-*"):
            old.unlink()
        done = castscope.bare(caller, torch, env=environment | more)
        assert (done.returncode, done.stdout) == (0, b"all arguments arrived\n"), done.stderr
        assert (b"the job runs on unobserved, without the policy" in done.stderr) == (len(more) == 2)


def test_each_process_says_why_it_ends(castscope, made, run_folder):
    torch = made("fake_torch.c", "libtorch_cpu.so", "-shared", "-fPIC")
    caller = made("caller.c", "caller", "-pthread", "-ldl")
    done = castscope.bare("sh", "-c", f"{caller} {torch}; {caller} {torch}; echo $?",
                          env={"CASTSCOPE_RUN": str(run_folder)} | ENFORCE)
    assert done.stdout == b"125\n" and done.stderr.count(REFUSAL) == 2
    (said,) = run_folder.glob("said-*")  # and the report says it once
    assert b"unobserved" in said.read_bytes()


def test_what_was_printed_before_the_end_is_not_lost(castscope, python, with_agent):
    torch, environment = with_agent
    code = "print('kept', end='')\n" + TOUCH.replace("CDLL(None)", "PyDLL(None)") + "print('not reached')"
    done = castscope.bare(python, "-c", code, torch, env=environment | ENFORCE | {"FAKE_AGENT_REFUSES": "no"})
    assert (done.returncode, done.stdout) == (125, b"kept")


def test_a_process_that_carries_the_policy_out_goes_on(castscope, python, with_agent, run_folder):
    """So do its forked children."""
    torch, environment = with_agent
    code = TOUCH + ("if os.fork() == 0: os._exit(ctypes.CDLL(None).castscope_attached())\n"
                    "print(os.waitstatus_to_exitcode(os.wait()[1]))\n")
    done = castscope.bare(python, "-c", code, torch, env=environment | ENFORCE)
    assert (done.returncode, done.stdout) == (0, b"1\n")


def test_a_process_that_is_switched_off_is_left_alone(castscope, made, with_agent):
    torch, environment = with_agent
    caller = made("caller.c", "caller", "-pthread", "-ldl")
    done = castscope.bare(caller, torch, env=environment | ENFORCE | {"CASTSCOPE_OFF": "1", "FAKE_AGENT_REFUSES": "no"})
    assert (done.returncode, done.stdout) == (0, b"all arguments arrived\n") and silent(done)


def test_a_child_forked_while_the_agent_is_loaded_does_not_import_torch_without_the_policy(castscope, python,
                                                                                           with_agent, tmp_path):
    torch, environment = with_agent
    code = ("import ctypes, os, sys, threading\n"
            "loads = threading.Thread(target=lambda: exec(TOUCH))\nloads.start()\nopen(sys.argv[2]).close()\n"
            "if os.fork() == 0:\n    os.getenv('FAKE_IMPORTS') and ctypes.CDLL(None).initModule()\n    os._exit(7)\n"
            "print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)\n"
            "open(sys.argv[3], 'w').close()\nloads.join()\n")
    begun, go_on = tmp_path / "begun", tmp_path / "go-on"
    subprocess.run(["mkfifo", begun, go_on], check=True)
    for more, status in (({}, 7), ({"FAKE_IMPORTS": "1"}, 125)):
        done = castscope.bare(python, "-c", f"TOUCH = {TOUCH!r}\n{code}", torch, begun, go_on, timeout=300,
                              env=environment | ENFORCE | more |
                              {"FAKE_AGENT_TELLS": str(begun), "FAKE_AGENT_WAITS": str(go_on)})
        assert (done.returncode, done.stdout) == (0, b"%d\n" % status), done.stderr
