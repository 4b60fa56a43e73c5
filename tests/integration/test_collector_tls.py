"""TLS of a collector: 1.3 alone, certificates of clients, and certificates that are replaced while it runs."""

import socket
import ssl
import subprocess
import time

import pytest
from collectors import Collector, certificate_for_loopback
from program import clean_environment

WAIT_S = 60


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
    def start(self):
        self.address = f"127.0.0.1:{free_port()}"
        super().start()


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


def test_only_tls_13_is_spoken(castscope, folder):
    collector = TlsCollector(castscope, options=["--cert", folder / "cert.pem", "--key", folder / "key.pem"])
    host, port = collector.address.split(":")
    context = ssl.create_default_context(cafile=folder / "cert.pem")
    with socket.create_connection((host, int(port))) as plain, context.wrap_socket(plain, server_hostname=host) as tls:
        assert tls.version() == "TLSv1.3"
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection((host, int(port))) as plain, pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(plain, server_hostname=host)
    collector.stop()


def test_a_relay_needs_a_certificate_of_the_collectors_authority(castscope, folder):
    """Without one nothing reaches the collector, whatever token is sent; its own end says what is missing."""
    collector = TlsCollector(castscope, options=["--cert", folder / "cert.pem", "--key", folder / "key.pem",
                                                 "--client-ca", folder / "ours.pem"])
    ours = send_run(castscope, collector, "--client-cert", "node.pem", "--client-key", "node.key")
    assert ours.returncode == 0 and "is kept by the collector" in ours.stderr, ours.stderr
    for options, told in (([], "asks for a certificate of ours: give it and its key with --client-cert"),
                          (["--client-cert", "stranger.pem", "--client-key", "stranger.key"],
                           "does not take our certificate, stranger.pem")):
        other = send_run(castscope, collector, *options)
        assert other.returncode == 0 and told in " ".join(other.stderr.split()), other.stderr
    half = send_run(castscope, collector, "--client-cert", "node.pem")
    assert half.returncode == 125 and "the key is missing" in " ".join(half.stderr.split())
    collector.stop()
    assert len(list(collector.folder.glob("*.castscope"))) == 1


def test_a_certificate_is_replaced_without_a_restart(castscope, folder):
    collector = TlsCollector(castscope, options=["--cert", folder / "cert.pem", "--key", folder / "key.pem"])
    host, port = collector.address.split(":")
    before = ssl.get_server_certificate((host, int(port)))
    (folder / "next").mkdir()
    certificate_for_loopback(folder / "next")
    for name in ("key.pem", "cert.pem"):
        (folder / "next" / name).rename(folder / name)
    end = time.monotonic() + WAIT_S  # the collector looks at the files every ten seconds
    while ssl.get_server_certificate((host, int(port))) == before and time.monotonic() < end:
        time.sleep(0.2)
    assert ssl.get_server_certificate((host, int(port))) == (folder / "cert.pem").read_text()
    collector.stop()
