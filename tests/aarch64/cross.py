"""Compiles for 64-bit ARM: the preload library, as server/cli/CMakeLists.txt does, and those unit tests of the agent
that look at what depends on the processor. Compiles the program that starts the emulated Python, too."""

import pathlib
import subprocess

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
CC, CXX, QEMU = "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "/usr/bin/qemu-aarch64-static"
IN_EVERY_PROCESS = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror",
                    "-s", "-I.", "-include", "agent/floor/glibc.h", "-Wl,-z,now", "-Wl,--no-as-needed", "-l:libdl.so.2"]
GTEST = pathlib.Path("/usr/src/googletest")

# name: the sources besides agent/NAME_test.cc
IMPORTS = [f"agent/imports/{name}.cc" for name in ("imports", "loaded_objects", "slot_writer")]
UNIT_TESTS = {
    "machine/machine": [],
    "imports/imports": [*IMPORTS, "agent/memory/own_memory.cc"],
    "memory/own_memory": ["agent/memory/own_memory.cc"],
    **{f"lanes/{name}": [f"agent/lanes/segment_{part}.cc" for part in ("file", "writer", "reader")]
       for name in ("segment_file", "segment_writer", "segment_reader", "lane_writer", "lanes")},
}
# qemu ends where memory for a segment is lacking, since it writes to it itself; and it makes up files in /proc, whose
# descriptors are not closed by exec.
NOT_IN_QEMU = {"lanes/segment_file": "SegmentFileTest.NoRoomIsAnErrorAndGivesBackWhatItTook:DescriptorTest.*"}
# As in agent/imports/CMakeLists.txt: the libraries that imports_test loads, what they link, and how.
FAKES = {
    "fakeblas": ("fake_blas", "-DCOPY=0"),
    "fakeblas_other": ("fake_blas", "-DCOPY=1000"),
    "user_now": ("blas_user", "-lfakeblas", "-Wl,-z,now", "-Wl,-z,relro"),
    "user_later": ("blas_user", "-lfakeblas", "-Wl,-z,now", "-Wl,-z,relro"),
    "user_lazy": ("blas_user", "-lfakeblas", "-Wl,-z,lazy", "-DCALLS_ONLY"),
    "user_other": ("blas_user", "-lfakeblas_other", "-Wl,-z,now"),
    "torch_double": ("blas_user", "-lfakeblas_other", "-Wl,-z,now"),
}


def run(*command):
    subprocess.run([str(word) for word in command], cwd=REPOSITORY, check=True)


def preload_library(folder):
    library = folder / "libcastscope.so"
    run(CC, *IN_EVERY_PROCESS, "-shared", *sorted(REPOSITORY.glob("agent/preload/*.c")), "-o", library)
    run(CC, *IN_EVERY_PROCESS, "-pie", "-nostartfiles", "-fno-stack-protector",
        "server/cli/loading/trivial_process.c", "-o", folder / "castscope-trivial")
    run(CC, "-D_GNU_SOURCE", "-O1", "-fPIC", "-shared", "tests/aarch64/own_stat.c", "-o", folder / "own_stat.so")
    return f"{library}:{folder / 'own_stat.so'}"


def python(folder, root, site, preload):
    program = folder / "bin" / "python3"
    program.parent.mkdir(exist_ok=True)
    names = {"QEMU": QEMU, "ROOT": root, "SITE": site, "PRELOAD": preload, "SELF": program}
    run("gcc", "-D_GNU_SOURCE", "-O1", "-static", *(f'-D{name}="{value}"' for name, value in names.items()),
        "tests/aarch64/python.c", "-o", program)
    return program


def emulated(root, *command):
    return subprocess.run([QEMU, "-L", str(root), *map(str, command)], capture_output=True, text=True, check=False)


def loads(folder, root):
    """What the trivial program says of the preload library: "2.36 yes"."""
    return emulated(root, "-E", f"LD_PRELOAD={folder / 'libcastscope.so'}", folder / "castscope-trivial").stdout.strip()


def googletest(folder):
    includes = [f"-I{GTEST / part}" for name in ("googletest", "googlemock") for part in (name, f"{name}/include")]
    objects = []
    for source in ("googletest/src/gtest-all", "googletest/src/gtest_main", "googlemock/src/gmock-all"):
        objects.append(folder / f"{pathlib.Path(source).name}.o")
        if not objects[-1].exists():
            run(CXX, "-std=c++20", "-O1", *includes, "-c", GTEST / f"{source}.cc", "-o", objects[-1])
    return [*includes, *objects]


def fakes(folder):
    for name, (source, *flags) in FAKES.items():
        run(CXX, "-std=c++20", "-O2", "-fPIC", "-shared", "-I.", f"agent/imports/fakes/{source}.cc", f"-L{folder}",
            f"-Wl,-rpath,{folder}", *flags, "-o", folder / f"lib{name}.so")


def unit_tests(folder, root):
    """{name: None, or the last lines of a test that failed}"""
    (folder / "unit").mkdir(exist_ok=True)
    common = [*googletest(folder / "unit"), f'-DFAKES="{folder / "unit"}"']
    fakes(folder / "unit")
    outcomes = {}
    for name, sources in UNIT_TESTS.items():
        test = folder / "unit" / f"{pathlib.Path(name).name}_test"
        run(CXX, "-std=c++20", "-O2", "-I.", f"agent/{name}_test.cc", *sources, *common, "-o", test)
        done = emulated(root, test, f"--gtest_filter=-{NOT_IN_QEMU.get(name, '')}")
        outcomes[f"agent/{name}_test"] = None if done.returncode == 0 else (done.stdout + done.stderr)[-2000:]
    return outcomes
