"""Who may send to a collector, where the token is, and who can read what the collector writes."""

import contextlib
import json
import os
import socket
import subprocess
import threading
import time

import pytest
from collectors import WAIT_S, Collector, exited, refused
from program import clean_environment
from work import WORK, assert_worked, eventually


@pytest.fixture
def token_file(castscope):
    path = castscope.folder / "token"
    path.write_text("a secret of the team\nthe rest is not read\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def guarded(castscope, token_file):
    collector = Collector(castscope, under=["env", f"CASTSCOPE_TOKEN_FILE={token_file}"])
    yield collector
    collector.stop()


def test_only_who_has_the_token_of_the_file_may_send(wire, guarded):
    client = wire.Client(guarded.address, "mine", token="a secret of the team")
    process = wire.Process(client, pid=1)
    process.batch(end=exited(wire))
    client.goodbye()
    client.close()
    for token, told in (("wrong", "does not know"), (None, "was given none"), ("a secret of the team ", "not know")):
        code, sentence = refused(wire, lambda token=token: wire.Client(guarded.address, "other", token=token))
        assert code == "UNAUTHENTICATED" and told in sentence
    guarded.stop()
    assert guarded.log.count("audit: a wrong token came from unix") == 1
    assert "secret" not in guarded.log
    modes = {path.name: path.stat().st_mode & 0o777 for path in guarded.folder.iterdir()}
    assert set(modes) == {"mine.castscope", "mine.json", ".castscope-serve.lock"} and set(modes.values()) == {0o600}


def test_a_bare_run_that_a_collector_does_not_let_in_is_recorded_here_whole(castscope, python, guarded):
    castscope.bare(python, "-c", WORK + "work(3)",
                   env={"CASTSCOPE_COLLECTOR": guarded.address, "CASTSCOPE_OUT": str(castscope.folder / "bare")})
    run = eventually(castscope.folder / "bare.json")
    assert_worked(run, 3)
    assert (run["run"]["complete"], run["run"]["missing"]) == (True, [])
    assert any("did not take this run" in notice and notice.endswith("): it is recorded here")
               for notice in run["run"]["notices"]), run["run"]["notices"]


@pytest.mark.parametrize("words", [["--token", "secret"], ["--token=secret"]])
def test_a_token_on_the_command_line_does_not_stay_there(castscope, words):
    command = [str(castscope.program), "serve", "--listen", f"unix:{castscope.folder}/s", *words]
    with subprocess.Popen(command, cwd=castscope.folder, env=clean_environment(), stderr=subprocess.PIPE) as server:
        assert b"collecting on" in server.stderr.readline()
        with open(f"/proc/{server.pid}/cmdline", "rb") as shown:
            assert b"secret" not in shown.read()
        server.terminate()


def test_no_token_is_sent_to_a_socket_that_others_may_make(castscope):
    shared = castscope.folder / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with socket.socket(socket.AF_UNIX) as listener:  # of whoever was there first
        listener.bind(f"{shared}/s")
        listener.listen()
        listener.settimeout(0)
        done = castscope("run", "--collector", f"unix:{shared}/s", "--", "touch", "began", text=True,
                         env=clean_environment(CASTSCOPE_TOKEN="secret"))
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert done.returncode == 125 and f"others may make {shared}/s" in done.stderr, done
    assert not (castscope.folder / "began").exists()


def test_a_job_does_not_get_the_token(castscope):
    done = castscope("run", "--", "sh", "-c", "echo token: $CASTSCOPE_TOKEN", text=True,
                     env=clean_environment(CASTSCOPE_TOKEN="secret"))
    assert done.stdout == "token:\n"


@pytest.mark.parametrize("mode, text, told", [(0o640, "secret", "can be read by others: `chmod 600 "),
                                              (0o600, "\nsecret", "has no first line")])
def test_a_tokens_file_that_is_no_good_is_refused(castscope, token_file, mode, text, told):
    token_file.write_text(text)
    token_file.chmod(mode)
    for command in (["serve", "--token-file", token_file], ["recover", "--list", "--token-file", token_file],
                    ["run", "--collector", "127.0.0.1:1", "--token-file", token_file, "--", "true"]):
        done = castscope(*command, text=True)
        assert done.returncode in (2, 125) and told in " ".join(done.stderr.split()), done.stderr


def test_a_collector_trusts_no_file_that_others_may_replace(castscope, token_file):
    (castscope.folder / "shared").mkdir()
    (castscope.folder / "tokens.json").write_text(json.dumps(
        {"tokens": [{"name": "a", "sha256": "0" * 64, "may": ["send"]}]}))
    for option, path in (("--token-file", token_file), ("--tokens", castscope.folder / "tokens.json")):
        moved = path.rename(castscope.folder / "shared" / path.name)
        for mode, status in ((0o775, 2), (0o755, 0), (0o1777, 0)):
            (castscope.folder / "shared").chmod(mode)
            done = castscope("serve", "--check-config", option, moved, text=True)
            told = "could put another file in the place of" in " ".join(done.stderr.split())
            assert done.returncode == status and told == (status != 0), done


def test_a_collector_takes_its_token_from_a_pipe(castscope):
    reading, writing = os.pipe()  # as `--token-file <(pass show collector)` gives one
    os.write(writing, b"secret\n")
    os.close(writing)
    done = castscope("serve", "--check-config", "--token-file", f"/dev/fd/{reading}", text=True, pass_fds=[reading])
    os.close(reading)
    assert done.returncode == 0, done


def test_nothing_is_sent_to_another_machine_without_tls(castscope):
    code = "import socket; listener = socket.create_server(('0.0.0.0', 0)); print(listener.getsockname()[1]); " \
           "connection = listener.accept()[0]; print(connection.recv(3).hex())"
    listener = subprocess.Popen(["python3", "-uc", code], stdout=subprocess.PIPE, text=True)
    address = f"{another_address()}:{listener.stdout.readline().strip()}"
    job = subprocess.Popen([str(castscope.program), "run", "--collector", address, "--", "sh", "-c", "read line"],
                           cwd=castscope.folder, env=clean_environment(CASTSCOPE_TOKEN="secret"),
                           stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert listener.communicate(timeout=WAIT_S)[0].strip().startswith("1603"), "the begin of a TLS handshake"
    job.communicate(timeout=WAIT_S)


def test_recover_says_what_is_wrong_with_tls(castscope, with_certificate):
    environment = clean_environment(CASTSCOPE_TOKEN="secret", CASTSCOPE_SPOOL=castscope.folder / "spool",
                                    CASTSCOPE_SPOOL_BYTES="1 MB")
    job = castscope.program.parent / "tests/faults/replayed_job"
    castscope("run", "--collector", with_certificate, "--ca", "others.pem", "--", job, "progress", "10", "1000", "0",
              env=environment)
    spool, = (castscope.folder / "spool").glob("*.spool")
    done = castscope("recover", spool, text=True, env=environment)
    assert done.returncode == 3 and "others.pem do not stand for the collector's" in done.stderr, done.stderr


def pass_on_late(source, target):
    """Each piece of data arrives a tenth of a second after it was sent."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            time.sleep(0.1)
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@pytest.fixture
def far_away(castscope):
    """The port on which a collector is that is a fifth of a second away."""
    command = [str(castscope.program), "serve", "--listen", "127.0.0.1:0", "--folder", "collected"]
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        with contextlib.suppress(OSError):
            while True:
                client, server = listener.accept()[0], socket.create_connection(("127.0.0.1", port))
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=pass_on_late, args=pair, daemon=True).start()

    with subprocess.Popen(command, cwd=castscope.folder, env=clean_environment(), stderr=subprocess.PIPE,
                          text=True) as server:
        port = int(server.stderr.readline().split("127.0.0.1:")[1].split()[0])
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        server.terminate()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def test_a_collector_that_is_far_away_is_reached(castscope, far_away):
    job = castscope.program.parent / "tests/faults/replayed_job"
    done = castscope("run", "--collector", f"127.0.0.1:{far_away}", "-o", "far", "--", job, "progress", "500", "1000",
                     "0", text=True)
    assert done.returncode == 0 and "the run is kept by the collector" in done.stderr, done.stderr


def another_address():
    """An address of this machine that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing, and chooses the address
        except OSError:
            pytest.skip("this machine has no address but loopback")
        return probe.getsockname()[0]


@pytest.fixture
def with_certificate(castscope):
    """A collector with a certificate of its own, and the file of an authority that does not stand for it."""
    for name in ("collectors", "others"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{name}.key",
                        "-out", f"{name}.pem"], cwd=castscope.folder, check=True, capture_output=True)
    command = [str(castscope.program), "serve", "--listen", "127.0.0.1:0", "--cert", "collectors.pem", "--key",
               "collectors.key"]
    with subprocess.Popen(command, cwd=castscope.folder, env=clean_environment(CASTSCOPE_TOKEN="secret"),
                          stderr=subprocess.PIPE, text=True) as server:
        yield server.stderr.readline().split("collecting on ")[1].split()[0]
        server.terminate()


def test_a_job_that_is_over_soon_says_what_is_wrong_with_tls_too(castscope, with_certificate):
    """The watch that says so while a job runs says it after a second."""
    done = castscope("run", "--collector", with_certificate, "--ca", "others.pem", "--", "true", text=True,
                     env=clean_environment(CASTSCOPE_TOKEN="secret"))
    assert done.returncode == 0
    told = f"did not receive this run (the authorities in {castscope.folder}/others.pem do not stand for"
    assert told in " ".join(done.stderr.split())


def test_the_record_with_the_runs_key_is_its_users_alone(castscope):
    done = subprocess.run(["sh", "-c", f"umask 0; exec {castscope.program} run --no-source -- sh -c "
                           "'stat -c %a $CASTSCOPE_RUN $CASTSCOPE_RUN/run.json'"], cwd=castscope.folder, check=False,
                          env=clean_environment(), capture_output=True, text=True)
    assert done.stdout.split() == ["700", "600"], done
