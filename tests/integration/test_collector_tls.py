"""TLS of a collector: 1.3 alone, certificates of clients, and certificates that are replaced while it runs."""

import itertools
import os
import socket
import ssl
import subprocess
from types import SimpleNamespace

import pytest
from collectors import Collector, certificate_for_loopback
from program import clean_environment


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def certificate_of(authority, folder, name):
    """Makes NAME.pem and NAME.key, signed by AUTHORITY.pem, or by itself where that is its own name."""
    key = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
           "-subj", f"/CN={name}"]
    if authority == name:
        return openssl(folder, *key, "-x509", "-days", "1", "-out", f"{name}.pem")
    openssl(folder, *key, "-out", f"{name}.csr")
    return openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey",
                   f"{authority}.key", "-CAcreateserial", "-days", "1", "-out", f"{name}.pem")


class TlsCollector(Collector):
    def __init__(self, castscope, folder, *options):
        super().__init__(castscope, options=["--cert", folder / "cert.pem", "--key", folder / "key.pem", *options])

    def start(self):
        self.address = f"127.0.0.1:{free_port()}"
        super().start()

    def certificate(self):
        host, port = self.address.split(":")
        return ssl.get_server_certificate((host, int(port)))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def folder(castscope):
    certificate_for_loopback(castscope.folder)
    for authority, name in (("ours", "ours"), ("theirs", "theirs"), ("ours", "node"), ("theirs", "stranger")):
        certificate_of(authority, castscope.folder, name)
    return castscope.folder


def send_run(castscope, collector, *options):
    return castscope("run", "--collector", collector.address, "--ca", "cert.pem", *options, "--", "true", text=True,
                     env=clean_environment(CASTSCOPE_SPOOL_BYTES="0"))


def expect_tls_13_alone(collector, authority):
    host, port = collector.address.split(":")
    context = ssl.create_default_context(cafile=authority)
    with socket.create_connection((host, int(port))) as plain, context.wrap_socket(plain, server_hostname=host) as tls:
        assert tls.version() == "TLSv1.3"
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection((host, int(port))) as plain, pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(plain, server_hostname=host)


def test_only_tls_13_is_spoken(castscope, folder):
    collector = TlsCollector(castscope, folder)
    expect_tls_13_alone(collector, folder / "cert.pem")
    collector.stop()


def test_a_relay_needs_a_certificate_of_the_collectors_authority(castscope, folder):
    """Without one nothing reaches the collector, whatever token is sent; its own end says what is missing."""
    collector = TlsCollector(castscope, folder, "--client-ca", folder / "ours.pem")
    ours = send_run(castscope, collector, "--client-cert", "node.pem", "--client-key", "node.key")
    assert ours.returncode == 0 and "is kept by the collector" in ours.stderr, ours.stderr
    for options, told in (([], "asks for a certificate of ours: give it and its key with --client-cert"),
                          (["--client-cert", "stranger.pem", "--client-key", "stranger.key"],
                           f"does not take our certificate, {folder / 'stranger.pem'}")):
        other = send_run(castscope, collector, *options)
        assert other.returncode == 0 and told in " ".join(other.stderr.split()), other.stderr
    half = send_run(castscope, collector, "--client-cert", "node.pem")
    assert half.returncode == 125 and "the key is missing" in " ".join(half.stderr.split())
    collector.stop()
    assert len(list(collector.folder.glob("*.castscope"))) == 1


def test_a_certificate_is_replaced_without_a_restart(castscope, folder):
    collector = TlsCollector(castscope, folder)
    before = collector.certificate()
    (folder / "next").mkdir()
    certificate_for_loopback(folder / "next")
    for name in ("key.pem", "cert.pem"):
        (folder / "next" / name).rename(folder / name)
    collector.read_log_until("the certificate was read again from")  # it looks at the files every ten seconds
    assert collector.certificate() == (folder / "cert.pem").read_text() != before
    expect_tls_13_alone(collector, folder / "cert.pem")
    collector.stop()


def spoil(file, how):
    file.unlink()
    {"empty": file.touch, "folder": file.mkdir, "pipe": lambda: os.mkfifo(file)}[how]()


def test_files_of_tls_that_are_wrong_change_nothing(castscope, folder):
    """An empty file, as `cp` leaves it for a moment, ended the collector, and all runs with it."""
    collectors = {}
    for name, how in itertools.product(("cert.pem", "key.pem"), ("empty", "folder", "pipe")):
        own = folder / f"{name}-{how}"
        own.mkdir()
        certificate_for_loopback(own)
        collectors[name, how] = collector = TlsCollector(SimpleNamespace(folder=own, program=castscope.program), own)
        collector.before = collector.certificate()
        spoil(own / name, how)
    for (name, how), collector in collectors.items():
        told = collector.read_log_until("the certificate that was read before stays in use")
        assert str(collector.castscope.folder / name) in told and "[error]" in told
        assert collector.certificate() == collector.before, (name, how)
    for (name, _), collector in collectors.items():
        own = collector.castscope.folder
        if (own / name).is_dir():
            (own / name).rmdir()
        certificate_for_loopback(own / "..")
        for good in ("key.pem", "cert.pem"):
            (own / ".." / good).rename(own / good)
    for collector in collectors.values():
        collector.read_log_until("the certificate was read again from")
        assert collector.certificate() == (collector.castscope.folder / "cert.pem").read_text() != collector.before
        collector.stop()


def test_files_of_tls_that_are_wrong_are_refused_at_the_start(castscope, folder):
    for name, how in itertools.product(("cert.pem", "key.pem"), ("empty", "folder", "pipe")):
        (folder / f"{how}-{name}").touch()
        spoil(folder / f"{how}-{name}", how)
        files = {"cert.pem": folder / "cert.pem", "key.pem": folder / "key.pem", name: folder / f"{how}-{name}"}
        for check in ([], ["--check-config"]):
            ended = castscope("serve", "--listen", f"127.0.0.1:{free_port()}", "--cert", files["cert.pem"], "--key",
                              files["key.pem"], *check, text=True, env=clean_environment())
            assert ended.returncode == 2 and f"{how}-{name}" in ended.stderr, (name, how, ended)
