"""An authority of the campaign's own, and the collector's certificate, which is made anew when it has expired."""

import datetime
import subprocess

import system_calls
from system_calls import DAY_S

NAMES = "subjectAltName=IP:127.0.0.1,IP:10.98.0.2"


class Certificates:
    def __init__(self, folder):
        self.folder = folder / "tls"
        self.folder.mkdir()
        self.authority, self.certificate, self.key = (self.folder / name for name in ("ca.pem", "cert.pem", "key.pem"))
        self.make(self.authority, self.folder / "ca.key", "-subj", "/CN=faults")
        self.expires = None

    @staticmethod
    def make(certificate, key, *options, under=()):
        subprocess.run([*under, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-days", "1", "-out", certificate, "-keyout", key, *options], check=True,
                       capture_output=True)

    def issue(self, lasts_s=DAY_S):
        """openssl counts in days, so for a shorter time it is told that it is yesterday."""
        under = ()
        if lasts_s < DAY_S:
            calls = system_calls.SystemCalls(self.folder / "yesterday")
            calls.come_out(clock_s=lasts_s - DAY_S)
            under = calls.under
        self.expires = datetime.datetime.now() + datetime.timedelta(seconds=lasts_s)
        self.make(self.certificate, self.key, "-subj", "/CN=collector", "-addext", NAMES, "-CA", self.authority,
                  "-CAkey", self.folder / "ca.key", under=under)

    def issue_foreign(self):
        """A certificate for the same names, of an authority that nobody knows."""
        self.make(self.certificate, self.key, "-subj", "/CN=collector", "-addext", NAMES)
        self.expires = datetime.datetime.now()

    def left_s(self):
        return (self.expires - datetime.datetime.now()).total_seconds()
