"""What the compiler says of small functions, for tests of rules that are types."""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def complaints(head, functions):
    """The compiler's errors in each of these functions, which stand on a line each behind the head."""
    text = head + "".join(around.format(i, body) for i, (around, body) in enumerate(functions))
    command = ["g++", "-std=c++20", "-fsyntax-only", f"-I{ROOT}", "-x", "c++", "-"]
    done = subprocess.run(command, input=text, check=False, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LC_ALL": "C"})
    found = [[] for _ in functions]
    for line, error in re.findall(r"^<stdin>:(\d+):\d+: error: (.*)", done.stderr, re.MULTILINE):
        found[int(line) - head.count("\n") - 1].append(error)
    assert any(found) == (done.returncode != 0), done.stderr
    return found
