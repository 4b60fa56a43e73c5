"""The program under test, and the environment it is started in."""

import os
import pathlib
import subprocess

from reports import read_report

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", ROOT / "build"))

# Whether tests can mount file systems of their own: as root, and not in a folder that chroot made the root.
CAN_MOUNT = os.geteuid() == 0 and not subprocess.run(["unshare", "-m", "true"], capture_output=True,
                                                     check=False).returncode


def clean_environment(**more):
    kept = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("CASTSCOPE_")}
    kept["CASTSCOPE_SPOOL_BYTES"] = "0"  # nothing of a test stays in the user's folders
    return kept | {k: str(v) for k, v in more.items()}


class Castscope:
    """The program, run in a folder of the test's own."""

    program = BUILD / "castscope"
    preload = BUILD / "libcastscope.so"

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, *arguments, **options):
        """Runs castscope ARGUMENTS… to its end."""
        options = {"cwd": self.folder, "env": clean_environment(), "capture_output": True, "timeout": 300,
                   "stdin": subprocess.DEVNULL} | options
        return subprocess.run([str(self.program), *map(str, arguments)], check=False, **options)

    def run(self, *command, output="run", **options):
        """Runs castscope run -o OUTPUT -- COMMAND… to its end."""
        return self("run", "-o", output, "--", *command, **options)

    def start(self, *command, output="run", **options):
        """Starts the same command and does not wait."""
        options = {"cwd": self.folder, "env": clean_environment(), "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL} | options
        return subprocess.Popen([str(self.program), "run", "-o", output, "--", *map(str, command)], **options)

    def report(self, name="run"):
        return read_report(self.folder / f"{name}.json")

    def bare(self, *command, env=None, **options):
        """Runs a command under LD_PRELOAD alone."""
        options = {"cwd": self.folder, "capture_output": True, "timeout": 300, "stdin": subprocess.DEVNULL} | options
        environment = clean_environment(LD_PRELOAD=self.preload) | (env or {})
        return subprocess.run([str(word) for word in command], env=environment, check=False, **options)
