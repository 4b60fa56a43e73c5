"""Roles and causes of a small program, as the comments at the end of its lines say."""

import sys

import pytest
import runs

PROGRAM = runs.WORKLOADS / "roles.py"
EXPECTED = {number: line.rpartition("#")[2].strip() for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
            if line.strip() and "#" in line and "its class" not in line}


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    done = runs.under_castscope([sys.executable, str(PROGRAM)], tmp_path_factory.mktemp("roles") / "run")
    assert done.status == 0, done.stderr.decode(errors="replace")
    return [site for site in done.report["sites"] if site["location"]["line"] in EXPECTED]


def test_a_subclass_that_is_a_parameter_and_a_view_of_a_buffer_have_their_roles(sites):
    seconds = {}
    for site in sites:
        if site["argument"] == "mat2":
            seconds.setdefault(site["location"]["line"], set()).add(site["role"])
    roles = {line: role for line, role in EXPECTED.items() if role in ("weight", "buffer", "input")}
    roles = {line: {role, "activation"} if role == "input" else {role} for line, role in roles.items()}
    assert seconds == roles  # a view of the input, without grad mode: what stands in a module is an activation


def test_what_python_asks_for_is_user_to_by_whatever_name(sites):
    causes = {site["location"]["line"]: site["cause"] for site in sites if site["cause"] != "autocast"}
    assert causes == {line: cause for line, cause in EXPECTED.items() if cause in ("user_to", "operator")}
