"""docs/environment.md has every variable that the job's part and the program read, and no other."""

import re

import pytest
from blocks import ROOT

PAGE = (ROOT / "docs/environment.md").read_text()
# Variables that castscope's own parts set for each other, or its tests.
INTERNAL = {
    "CASTSCOPE_PROGRAM": "what `castscope compare` calls itself in the usage of its Python part",
    "CASTSCOPE_PYTEST_CHILD": "what the plugin of pytest tells a test's own process",
    "CASTSCOPE_ONE_RANK": "what `castscope run` tells its job where it is itself one rank of a launcher",
    "CASTSCOPE_ROLL": "where the processes of a run find its roll",
    "CASTSCOPE_SECRET": "by what the recorder of a run knows processes of its job that run as another user",
    "CASTSCOPE_RING": "the size of rings, for stress tests",
    "CASTSCOPE_BENCH": "whether tests measure costs",
    "CASTSCOPE_UPDATE_GOLDEN": "whether tests write the files that they compare with",
}
# Read through a loop over names, or set and never read.
BY_NAME = {"CXX", "RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
           "FLUX_JOB_ID", "OAR_JOB_ID", "CI_JOB_ID", "GITHUB_RUN_ID", "LD_PRELOAD", "LOCAL_WORLD_SIZE",
           "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
           "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_PROCID", "SLURM_LOCALID",
           "SLURM_STEP_NUM_TASKS"}
# Every program reads them, or PyTorch does: they say nothing of castscope.
EVERYBODYS = {"PATH", "PYTHONPATH", "PYTEST_PLUGINS", "TORCH_COMPILE_CACHE_KEY_TAG", "TORCH_LOGS"}
READS = re.compile(r"""(?:getenv|environment_get|\bvariable|from_variable|variable_with_path|environ\.get)\(\s*
                       ["']([A-Z][A-Z0-9_]+)["'] | environ\[["']([A-Z][A-Z0-9_]+)["']\] |
                       ["']([A-Z][A-Z0-9_]+)["']\s+(?:not\s+)?in\s+os\.environ""", re.VERBOSE)
OURS = re.compile(r"""["'](CASTSCOPE_[A-Z0-9_]+)(?==?["'])""")


def sources():
    for folder in ("agent", "server"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".c", ".cc", ".h", ".py") and not path.name.startswith("test_"):
                yield path.relative_to(ROOT), path.read_text()


def read_by_the_code():
    names = set()
    for path, text in sources():
        names |= set(OURS.findall(text))
        if not re.search(r"_(test|bench)\.cc$", path.name):
            names |= {name for found in READS.findall(text) for name in found if name}
    return names


def told_on_the_page():
    return {name for row in re.findall(r"^\| (`[^|]*`) \|", PAGE, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}


def test_the_page_has_every_variable_and_no_other():
    assert told_on_the_page() == read_by_the_code() - set(INTERNAL) - EVERYBODYS | BY_NAME


@pytest.mark.parametrize("name", sorted(BY_NAME - {"LD_PRELOAD"}))
def test_a_variable_that_is_read_by_its_name_alone_is_in_the_code(name):
    assert any(f'"{name}"' in text for _, text in sources())


def test_what_is_internal_is_read_and_not_told():
    assert set(INTERNAL) <= read_by_the_code()
    assert not set(INTERNAL) & told_on_the_page()
