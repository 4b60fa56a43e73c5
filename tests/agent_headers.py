"""Which headers a compiler opens for an agent, and which of them come with it or with PyTorch."""

import pathlib
import re
import subprocess

import native

COMPILER = """#!/bin/sh
# Preprocesses what it is to compile, and writes the names of the headers to a file of the object's name.
for word; do
  if [ "$before" = -o ]; then output=$word; fi
  before=$word
done
exec {compiler} -M -MF "{folder}/$(basename "$output")" "$@"
"""

# Debian's packages that g++ cannot do without, and PyTorch's.
BROUGHT_BY_A_COMPILER = re.compile(r"(libc6-dev|libc-dev|linux-libc-dev|libcrypt-dev|libstdc\+\+-\d+-dev|libgcc-\d+-dev"
                                   r"|g(cc|\+\+)-\d+.*|libtorch-dev)(-\w+-cross)?")


def opened(listing):
    """The files of a rule for make."""
    return listing.read_text().replace("\\\n", " ").split(": ", 1)[1].split()


def headers_of_the_agent(castscope, python, folder, environment):
    """All headers of the agent for the PyTorch of this Python, by castscope's own recipe."""
    compiler = folder / "compiler"
    compiler.write_text(COMPILER.format(folder=folder, compiler=" ".join(native.COMPILER)))
    compiler.chmod(0o755)
    # It ends with an error, since nothing is there to link.
    subprocess.run([castscope, "build-agent", "--agent-into", folder / "agents", "--python", python],
                   env=environment | {"CXX": str(compiler)}, capture_output=True, check=False)
    return {header for listing in folder.glob("*.o") for header in opened(listing)}


def packages_of(files):
    """The package of each of the files; None for a file of no package."""
    said = subprocess.run(["dpkg-query", "--search", *files], capture_output=True, text=True, check=False).stdout
    rows = [line.split(": /", 1) for line in said.splitlines()]
    return dict.fromkeys(files) | {f"/{file}": package.split(":")[0] for package, file in rows}


def foreign(headers):
    """{header: its package}, of those that come neither with g++ nor with PyTorch nor with castscope."""
    torch = native.torch_folder()
    files = sorted({str(pathlib.Path(header).resolve()) for header in headers
                    if header.startswith("/") and not header.startswith(f"{torch}/")})
    return {header: package for header, package in packages_of(files).items()
            if package is None or not BROUGHT_BY_A_COMPILER.fullmatch(package)}
