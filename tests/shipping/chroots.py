"""Bare Debian systems in folders: made by debootstrap, entered by chroot. Their mounts are in a namespace of each
command's own, so nothing is mounted any more when it has ended."""

import os
import shutil
import subprocess
import sys

MIRROR = "http://deb.debian.org/debian"
USER = 1000
# What the command sees: its own /proc, /tmp and /dev/shm, the home folder, and wheels to install from.
MOUNTS = """
set -e
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o noexec,mode=1777 tmpfs "$root/tmp"
mount --bind "$home" "$root/home/job"
[ -z "$wheels" ] || { mkdir -p "$root/$at" && mount --bind "$wheels" "$root/$at"; }
exec chroot --userspec=$user:$user "$root" /usr/bin/env -i HOME=/home/job LANG=C.UTF-8 PATH=/usr/bin:/bin \
  PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 bash -c "cd && $command"
"""


def check_that_it_can():
    mounts = subprocess.run(["unshare", "-m", "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0
    for reason, holds in (("it needs root, for chroot and mounts", os.geteuid() == 0),
                          ("mounts are not allowed here", mounts),
                          ("debootstrap is missing: apt-get install debootstrap", shutil.which("debootstrap"))):
        if not holds:
            sys.exit(f"scripts/check-wheel: {reason}")


def base(suite, packages, folder):
    """The system as an archive, which is made once."""
    archive = folder / f"{suite}.tar"
    if not archive.exists():
        print(f"\n== Fetching Debian's {suite}", flush=True)
        made = folder / suite
        shutil.rmtree(made, ignore_errors=True)
        subprocess.run(["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", suite, made, MIRROR],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["tar", "-C", made, "--numeric-owner", "-cf", f"{archive}.new", "."], check=True)
        os.rename(f"{archive}.new", archive)
        shutil.rmtree(made)
    return archive


class System:
    """A system of its own, with a user `job` and a home folder, which may be that of another system."""

    def __init__(self, name, suite, packages, folder, home=None):
        self.name = name
        self.root = folder / "systems" / name
        self.home = home or folder / "systems" / f"home-of-{name}"
        shutil.rmtree(self.root, ignore_errors=True)
        (self.root / "home" / "job").mkdir(parents=True)
        subprocess.run(["tar", "-C", self.root, "--numeric-owner", "-xf", base(suite, packages, folder)], check=True)
        if home is None:
            shutil.rmtree(self.home, ignore_errors=True)
            self.home.mkdir()
            os.chown(self.home, USER, USER)
        with open(self.root / "etc" / "passwd", "a") as users:
            users.write(f"job:x:{USER}:{USER}::/home/job:/bin/bash\n")

    def run(self, command, wheels=None, at="wheels"):
        """Runs it by bash as `job` in the home folder. Returns all that it prints; fails where it does."""
        variables = {"root": self.root, "home": self.home, "wheels": wheels or "", "at": at, "user": USER,
                     "command": command}
        done = subprocess.run(["unshare", "-m", "--propagation", "private", "bash", "-c", MOUNTS],
                              env={"PATH": os.environ["PATH"]} | {key: str(value) for key, value in variables.items()},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if done.returncode:
            sys.exit(f"{self.name}: `{command}` ends with {done.returncode}:\n{done.stdout}")
        return done.stdout
