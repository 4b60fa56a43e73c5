"""Runs blocks of Python, each by itself, in one process: python run_blocks.py FILE

FILE has them by their names, as JSON. What each printed goes into printed.json.
"""

import contextlib
import io
import json
import pathlib
import sys

printed = {}
for name, text in json.loads(pathlib.Path(sys.argv[1]).read_text()).items():
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(text, name, "exec"), {"__name__": "__main__"})
    printed[name] = output.getvalue()
pathlib.Path("printed.json").write_text(json.dumps(printed))
