"""How much the conformance tests run: a short form in continuous integration, all of it in scripts/conformance."""

import os

WHOLE = os.environ.get("CONFORMANCE") == "whole"
