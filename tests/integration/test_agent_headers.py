"""An agent is compiled from PyTorch's headers and what comes with g++. This machine may have more, so the test looks at
which headers the compiler opens."""

import pathlib
import re
import subprocess

import native
from program import clean_environment

COMPILER = """#!/bin/sh
# Preprocesses what it is to compile, and writes the names of the headers to a file of the object's name.
for word; do
  if [ "$before" = -o ]; then output=$word; fi
  before=$word
done
exec g++ -M -MF "{folder}/$(basename "$output")" "$@"
"""

# Debian's packages that g++ cannot do without, and PyTorch's.
BROUGHT_BY_A_COMPILER = re.compile(r"libc6-dev|libc-dev|linux-libc-dev|libcrypt-dev|libstdc\+\+-\d+-dev|libgcc-\d+-dev"
                                   r"|g(cc|\+\+)-\d+.*|libtorch-dev")


def opened(listing):
    """The files of a rule for make."""
    return listing.read_text().replace("\\\n", " ").split(": ", 1)[1].split()


def packages_of(files):
    """The package of each of the files; None for a file of no package."""
    said = subprocess.run(["dpkg-query", "--search", *files], capture_output=True, text=True, check=False).stdout
    rows = [line.split(": /", 1) for line in said.splitlines()]
    return dict.fromkeys(files) | {f"/{file}": package.split(":")[0] for package, file in rows}


def headers_of_the_agent(castscope, python, folder):
    compiler = folder / "compiler"
    compiler.write_text(COMPILER.format(folder=folder))
    compiler.chmod(0o755)
    castscope("build-agent", "--agent-into", folder / "agents", "--python", python,
              env=clean_environment(CXX=compiler))  # ends with an error, since nothing is there to link
    return {header for listing in folder.glob("*.o") for header in opened(listing)}


def test_a_compiler_and_the_wheel_are_enough(castscope, python, tmp_path):
    headers = headers_of_the_agent(castscope, python, tmp_path)
    torch = native.torch_folder()
    assert any(header.endswith("ATen/core/dispatch/Dispatcher.h") for header in headers)
    foreign = sorted({str(pathlib.Path(header).resolve()) for header in headers
                      if header.startswith("/") and not header.startswith(f"{torch}/")})
    assert {header: package for header, package in packages_of(foreign).items()
            if package is None or not BROUGHT_BY_A_COMPILER.fullmatch(package)} == {}
