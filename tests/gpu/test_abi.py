"""Our own declarations of CUPTI's interface are those of the headers in tests/requirements.txt."""

import pathlib
import re
import subprocess
import sysconfig

import pytest
import runs

HEADERS = pathlib.Path(sysconfig.get_paths()["purelib"]) / "nvidia" / "cu13" / "include"
CHECK = runs.ROOT / "scripts" / "check-gpu-abi"


def test_declarations_are_those_of_the_headers():
    done = subprocess.run([CHECK, HEADERS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "CUPTI" in done.stdout


@pytest.mark.parametrize("pattern, instead, said", [
    (r"uint32_t correlationId;", "uint64_t correlationId;", "correlationId"),
    (r"(CUPTI_ACTIVITY_KIND_MEMSET\s*=) 2", r"\1 102", "CUPTI_ACTIVITY_KIND_MEMSET"),
    (r"cuptiActivityFlushAll\(uint32_t flag\)", "cuptiActivityFlushAll(uint64_t flag)", "cuptiActivityFlushAll")])
def test_what_differs_is_named(tmp_path, pattern, instead, said):
    text, changes = re.subn(pattern, instead, (HEADERS / "cupti_activity.h").read_text(errors="replace"))
    assert changes > 0
    (tmp_path / "cupti_activity.h").write_text(text)
    (tmp_path / "cupti.h").write_text((HEADERS / "cupti.h").read_text())  # which includes the one beside it
    done = subprocess.run([CHECK, tmp_path, HEADERS], capture_output=True, text=True)
    assert done.returncode != 0 and said in done.stderr
