"""What a build of the program took that belongs to others, as the build itself tells it."""

import json
import os
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What the compiler adds by itself to a static program.
OF_THE_COMPILER = ["libc.a", "libm.a", "libstdc++.a", "libgcc.a", "libgcc_eh.a", "libatomic.a", "crt1.o", "crtbeginT.o"]


def lines_of(*command):
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


def linked_archives(build):
    """The last command of all that make the program is the linker's."""
    link = shlex.split(lines_of("ninja", "-C", build, "-t", "commands", "castscope")[-1])
    compilers = [pathlib.Path(line) for name in OF_THE_COMPILER for line in lines_of("c++", f"-print-file-name={name}")]
    return [pathlib.Path(word) for word in link if re.fullmatch(r"/.*\.a", word)] + compilers


def headers_read(build):
    """By ninja's log of dependencies, those of the objects that the program is made of."""
    inputs = {line.strip() for line in lines_of("ninja", "-C", build, "-t", "inputs", "castscope")}
    wanted, headers = False, set()
    for line in lines_of("ninja", "-C", build, "-t", "deps"):
        if line and not line.startswith(" "):
            wanted = line.split(":")[0] in inputs
        elif wanted and line.strip().startswith("/usr/"):
            headers.add(pathlib.Path(line.strip()))
    return headers


def debian_packages(files):
    """The names of the packages that have these files; a file that no package has is an error."""
    paths = sorted({os.path.realpath(file) for file in files})
    names = set()
    for start in range(0, len(paths), 500):
        for line in lines_of("dpkg-query", "--search", *paths[start:start + 500]):
            if not line.startswith("diversion "):
                names.update(line.split(": ")[0].split(", "))
    return names


def packages_of_the_page():
    """The npm packages in the viewer's page, by the paths of their folders: those that are no tools."""
    packages = json.loads((ROOT / "ui" / "package-lock.json").read_text())["packages"]
    return {ROOT / "ui" / path: package for path, package in sorted(packages.items())
            if path and not package.get("dev")}
