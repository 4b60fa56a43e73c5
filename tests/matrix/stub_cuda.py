"""Makes the libraries of CUDA that a CUDA build of PyTorch cannot be loaded without, so that it computes on the CPU
where none of them is installed.

`stub_cuda.py FOLDER` puts into FOLDER, the `torch/lib` of a wheel, each library that those in it need and that is not
there. Each of its functions says that there is no device. (tests/gpu/double is another thing: a GPU that is not there.)
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

NO_DEVICE = 100  # cudaErrorNoDevice, CUDA_ERROR_NO_DEVICE
OF_THE_SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z|util|quadmath)\.so\.\d+|ld-linux-.*")
# Names of Python's and the compiler's own, and the versions that the compiler's and C's libraries have.
OF_OTHERS = re.compile(r"_?Py|__(?!cuda)|(GLIBC|GCC|CXXABI|GOMP|OMP|GFORTRAN|QUADMATH|ZLIB)")


def lines_of(*command):
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


def needed_by(library):
    return [line.split("[")[1].rstrip("]") for line in lines_of("readelf", "-dW", library) if "(NEEDED)" in line]


def symbols_of(library):
    """The names with "@VERSION" that the library defines, and those that it needs."""
    rows = [line.split() for line in lines_of("nm", "-D", library)]
    defined = {row[-1] for row in rows if row[-2] not in "Uwv"}
    return defined, {row[-1] for row in rows if row[-2] == "U"}


def versions_needed_by(library):
    """Of each version that the library asks for: the name of the library that has it."""
    versions, file = {}, ""
    for line in lines_of("readelf", "-VW", library):
        if found := re.search(r" File: (\S+)", line):
            file = found[1]
        elif found := re.search(r" Name: (\S+)", line):
            versions[found[1]] = file
    return versions


def source_of(names):
    texts = {name for name in names if re.search(r"(String|Name|Version)$", name) and name.startswith(("cuda", "nccl"))}
    return "".join(
        f'const char* {name}(void) {{ return "a stub"; }}\n' if name in texts - {"cudaRuntimeGetVersion"} else
        f"long {name}(void) {{ return {0 if name in ('cudaGetLastError', 'cudaPeekAtLastError') else NO_DEVICE}; }}\n"
        for name in sorted(names))


def build(target, by_version):
    names = set().union(*by_version.values())
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder) / "stub.c", pathlib.Path(folder) / "versions"
        source.write_text(source_of(names))
        script.write_text("".join(f"{version} {{ global: {' '.join(f'{name};' for name in sorted(mine))} }};\n"
                                  for version, mine in by_version.items() if mine))
        lines_of("gcc", "-shared", "-fPIC", "-O1", "-w", "-fno-builtin", "-o", target, source,
                 f"-Wl,-soname,{target.name}", f"-Wl,--version-script,{script}")


def make(folder):
    folder = pathlib.Path(folder)
    libraries = [path for path in folder.glob("*.so*") if path.is_file() and not path.is_symlink()]
    there = {path.name for path in libraries}
    missing = {name for path in libraries for name in needed_by(path)} - there
    missing = {name for name in missing if not OF_THE_SYSTEM.fullmatch(name)}
    symbols = [symbols_of(path) for path in libraries]
    defined = {name.split("@")[0] for mine, _ in symbols for name in mine}
    of_version = {version: name for path in libraries for version, name in versions_needed_by(path).items()}
    wanted = {name: collections.defaultdict(set) for name in missing}
    for symbol in set().union(*(needs for _, needs in symbols)):
        name, _, version = symbol.partition("@")
        if name in defined or OF_OTHERS.match(version or name) or name.startswith("_Z"):
            continue
        for library in [of_version[version]] if version else missing - set(of_version.values()):
            wanted[library][version].add(name)
    for name, by_version in wanted.items():
        build(folder / name, by_version)
    return sorted(missing)


if __name__ == "__main__":
    print("\n".join(make(sys.argv[1])))
