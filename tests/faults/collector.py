"""A collector on a small disk, which can be killed and started again."""

import contextlib
import functools
import os
import re
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time

import runs

PATIENCE_S = 60


@functools.cache
def trouble():
    """Why a collector has no small disk here; "" where it has one."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        if os.geteuid() != 0 or not mount(folder, "8m"):
            return "no mounts"
        subprocess.run(["umount", folder], check=True)
        return ""


def mount(folder, size):
    return subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=False,
                          capture_output=True).returncode == 0


class Collector:
    """`castscope serve`; as root its folder is a tmpfs of 8 MB, or as large as is said."""

    def __init__(self, folder, under=(), address="127.0.0.1", certificates=None, environment=None, disk="8m",
                 program=runs.CASTSCOPE, options=()):
        self.folder = folder / "collected"
        self.folder.mkdir()
        self.under, self.address, self.certificates = under, address, certificates
        self.environment = environment or runs.clean_environment()
        self.on_small_disk = not trouble() and mount(self.folder, disk)
        self.program, self.options = program, list(options)
        self.port = 0
        self.log = ""
        self.start()

    def start(self):
        command, end = self.command(), time.monotonic() + PATIENCE_S
        while True:  # the port of one that was killed may be taken for a moment
            self.server = subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True)
            line = self.server.stderr.readline()
            if found := re.search(rf"collecting on {re.escape(self.address)}:(\d+)", line):
                self.port = int(found[1])
                self.reader = threading.Thread(target=self.read_log, args=(self.server,), daemon=True)
                self.reader.start()
                return
            line += self.server.communicate()[1]
            assert time.monotonic() < end, line

    def command(self):
        command = [*self.under, str(self.program), "serve", "--listen", f"{self.address}:{self.port}", *self.options]
        if "--config" not in self.options:
            command += ["--folder", str(self.folder)]
        if self.certificates is not None:
            command += ["--cert", str(self.certificates.certificate), "--key", str(self.certificates.key)]
        return command

    def try_to_start(self):
        """For settings with which it does not start: the exit status, and what was said."""
        done = subprocess.run(self.command(), env=self.environment, capture_output=True, text=True, check=False,
                              timeout=PATIENCE_S)
        return done.returncode, done.stderr

    def wait_until_logged(self, words):
        end = time.monotonic() + PATIENCE_S
        while words not in self.log:
            assert self.server.poll() is None and time.monotonic() < end, self.log
            time.sleep(0.01)

    def make_older(self, name):
        """Sets the end of a run back by an hour, while no collector runs."""
        with contextlib.closing(sqlite3.connect(self.folder / name)) as file, file:
            file.execute("UPDATE run SET value = value - 3600000000000 WHERE key = 'end_epoch_ns'")

    def read_log(self, server):
        """Meanwhile: a collector waits for whoever does not read its log, once the pipe is full."""
        for line in server.stderr:
            self.log += line

    def end(self, number):
        self.server.send_signal(number)
        status = self.server.wait(PATIENCE_S)
        self.reader.join()
        self.server.stderr.close()
        return status

    def fill(self):
        with contextlib.suppress(OSError), open(self.folder / "ballast", "wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))

    def free(self):
        (self.folder / "ballast").unlink(missing_ok=True)

    def remount(self, how):
        subprocess.run(["mount", "-o", f"remount,{how}", self.folder], check=True, capture_output=True)

    def close(self):
        if self.server.poll() is None:
            self.end(signal.SIGKILL)
        if self.on_small_disk:
            subprocess.run(["umount", "-l", self.folder], check=False)
