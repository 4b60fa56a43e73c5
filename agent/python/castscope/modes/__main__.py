"""`python -m castscope.modes`: see runner.py."""

import sys

from castscope.modes.runner import main

sys.exit(main(sys.argv[1:]))
