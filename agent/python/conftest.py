"""The tests in this folder import the package beside them. pytest has imported the installed one by then, for its
plugin, and that may be older than this tree."""

import pathlib
import sys

for name in [name for name in sys.modules if name.split(".")[0] == "castscope"]:
    del sys.modules[name]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
