"""axe-core, which knows the rules of accessible pages, run on a page in Chromium. It comes with the packages that build
the viewer's page (ui/package.json)."""

import pathlib

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"


def violations(page):
    """What is wrong with the page: of each rule that it breaks, the rule and where."""
    if not SOURCE.exists():
        pytest.skip("axe-core is not installed: scripts/test does that")
    page.evaluate(SOURCE.read_text())
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [(one["id"], [node["html"][:160] for node in one["nodes"][:5]]) for one in found["violations"]]
